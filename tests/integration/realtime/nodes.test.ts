/** Two servers of one project that talk over NATS, while one of them, or NATS, ends. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import {
  createClient,
  REALTIME_SUBSCRIBE_STATES,
  type RealtimeChannel,
  type RealtimeClientOptions,
  type SupabaseClient,
} from '@supabase/supabase-js'
import ws from 'ws'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { freePort } from '../../../bench/lib/ports.mjs'
import { Nats, NatsPeer } from '../../support/nats.mjs'
import { Server } from '../../support/server.mjs'
import { unique } from './stage.ts'

const binary = Buffer.from([0, 255, 10, 1])

describe.skipIf(inject('own') === null)('two nodes', () => {
  let clients: SupabaseClient[] = []
  let nats: Nats
  let host: Server
  let one: Server
  let two: Server
  const env = {
    JWT_SECRET: randomBytes(32).toString('hex'),
    TENANT_MAX_EVENTS_PER_SECOND: '1000000',
  }

  async function start() {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'basalt-node-'))
    const { user, password } = await host.superuser()
    const port = await host.psql('show port')
    const url = `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
    const node = { DATABASE_URL: url, BASALT_ADOPT_DATABASE: '1', NATS_URL: nats.url }
    return Server.start({ only: ['realtime'], dataDir, env: { ...env, ...node } })
  }

  function connect({ access }: Server) {
    const client = createClient(access.url, access.anonKey, {
      realtime: { transport: ws as unknown as RealtimeClientOptions['transport'] },
    })
    clients.push(client)
    return client
  }

  const joined = (channel: RealtimeChannel) =>
    new Promise<void>((resolve, reject) => {
      channel.subscribe((status, error) => {
        if (status === REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) resolve()
        else if (error !== undefined) reject(error)
      })
    })

  /** Waits until what is said on a node is heard on another one. */
  async function heard(from: Server, to: Server) {
    const name = unique('hello')
    const [here, there] = [connect(from).channel(name), connect(to).channel(name)]
    let isHeard = false
    there.on('broadcast', { event: 'hello' }, () => {
      isHeard = true
    })
    for (const channel of [here, there]) await joined(channel)
    await vi.waitFor(
      async () => {
        await here.send({ type: 'broadcast', event: 'hello', payload: {} })
        expect(isHeard).toBe(true)
      },
      { timeout: 20_000, interval: 200 },
    )
  }

  beforeAll(async () => {
    nats = new Nats(await freePort())
    await nats.start()
    host = await Server.start({ only: ['rest'], env })
    await host.psql(
      `create table flow (id bigint generated always as identity primary key, body text);
       grant select on flow to anon; alter publication supabase_realtime add table flow`,
    )
    one = await start()
    two = await start()
    await heard(one, two)
    await heard(two, one)
  })

  afterEach(async () => {
    await Promise.all(clients.map((client) => client.removeAllChannels()))
    clients = []
  })

  test('carry broadcasts of every form', async () => {
    const name = unique('room')
    const here = connect(one).channel(name)
    const there = connect(two).channel(name)
    const events: unknown[] = []
    for (const channel of [here, there]) {
      channel.on(
        'broadcast',
        { event: '*' },
        ({ event, payload }: { event: string; payload: unknown }) => {
          events.push([event, payload])
        },
      )
      await joined(channel)
    }
    const large = 'x'.repeat(2_000_000)
    await here.send({ type: 'broadcast', event: 'text', payload: { a: 1 } })
    await here.send({ type: 'broadcast', event: 'large', payload: { large } })
    await here.send({ type: 'broadcast', event: 'bytes', payload: new Uint8Array(binary).buffer })
    await expect.poll(() => events.length).toBe(3)
    expect(events[0]).toEqual(['text', { a: 1 }])
    expect(events[1]).toEqual(['large', { large }])
    expect(Buffer.from((events[2] as [string, ArrayBuffer])[1])).toEqual(binary)

    // Over HTTP, both hear it, whichever node is asked.
    events.length = 0
    const { access } = two
    const message = { topic: name, event: 'http', payload: { b: 2 } }
    const response = await fetch(`${access.url}/realtime/v1/api/broadcast`, {
      method: 'POST',
      headers: { apikey: access.anonKey, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [message] }),
    })
    expect(response.status).toBe(202)
    await expect
      .poll(() => events)
      .toEqual([
        ['http', { b: 2 }],
        ['http', { b: 2 }],
      ])
  })

  test('know who is present on each of them, until a node is killed', async () => {
    const name = unique('lobby')
    const at = (server: Server, key: string) =>
      connect(server).channel(name, { config: { presence: { key } } })
    const here = at(one, 'here')
    const keys = (channel: RealtimeChannel) => Object.keys(channel.presenceState()).sort()
    here.on('presence', { event: 'sync' }, () => undefined)
    await joined(here)
    await here.track({ n: 1 })

    // A client that joins later learns of both, and both learn of it.
    const third = await start()
    const there = at(third, 'there')
    there.on('presence', { event: 'sync' }, () => undefined)
    await joined(there)
    await expect.poll(() => keys(there)).toEqual(['here'])
    await there.track({ n: 2 })
    await expect.poll(() => keys(here)).toEqual(['here', 'there'])
    expect(here.presenceState().there).toEqual(there.presenceState().there)
    await here.untrack()
    await expect.poll(() => keys(there)).toEqual(['there'])
    await here.track({ n: 3 })
    await expect.poll(() => keys(there)).toEqual(['here', 'there'])

    await third.kill()
    await expect.poll(() => keys(here)).toEqual(['here'])
  })

  describe('believe nobody without the project’s secret', () => {
    let liar: NatsPeer
    beforeAll(async () => {
      liar = await NatsPeer.connect(nats)
    })
    afterAll(() => {
      liar.end()
    })

    /** Returns what the second node hears on a private channel’s topic of the same name as a public one, and on that. */
    async function listening(name: string) {
      const events: string[] = []
      const channel = connect(two).channel(name)
      channel.on(
        'broadcast',
        { event: '*' },
        ({ payload }: { payload: { text: string } }) => void events.push(payload.text),
      )
      await joined(channel)
      return events
    }

    const realtimeSubject = () =>
      liar.heard.find(({ subject }) => subject.startsWith('basalt.realtime.'))?.subject ?? ''

    test('who repeats or changes what it has heard', async () => {
      const name = unique('room')
      const events = await listening(name)
      const here = connect(one).channel(name)
      await joined(here)
      liar.heard = []
      await here.send({ type: 'broadcast', event: 'e', payload: { text: 'said once' } })
      await expect.poll(() => events).toEqual(['said once'])
      await expect
        .poll(() => liar.heard.some(({ payload }) => payload.includes('said once')))
        .toBe(true)
      const heard = [...liar.heard]
      for (const { subject, payload } of [...heard, ...heard]) {
        await liar.say(subject, payload)
        const changed = Buffer.from(
          payload.toString('latin1').replace('said once', 'not said.'),
          'latin1',
        )
        await liar.say(subject, changed)
      }
      await pause(1000)
      expect(events).toEqual(['said once'])
      await here.send({ type: 'broadcast', event: 'e', payload: { text: 'and again' } })
      await expect.poll(() => events).toEqual(['said once', 'and again'])
    })

    test('who makes messages up, of any size', { timeout: 120_000 }, async () => {
      const name = unique('room')
      const events = await listening(name)
      await expect.poll(realtimeSubject).not.toBe('')
      const subject = realtimeSubject()
      const memory = async () => {
        const status = await readFile(`/proc/${String(two.process.pid)}/status`, 'utf8')
        return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
      }
      const part = (head: object, body: string, hasNext = 0) => {
        const place = Buffer.alloc(21)
        randomBytes(8).copy(place)
        place.writeBigUInt64BE(1n, 8)
        place[20] = hasNext
        return Buffer.concat([place, Buffer.from(`${JSON.stringify(head)}\n${body}`)])
      }
      const topic = { name, is_private: false }
      const broadcast = { kind: 'broadcast', topic, form: 'user_json', event: 'e', id: null }
      for (const head of [broadcast, { kind: 'hello' }, { kind: 'goodbye' }, { kind: 'none' }]) {
        await liar.say(subject, part(head, JSON.stringify({ text: 'made up' })))
      }
      for (const size of [0, 1, 15, 16, 24, 45, 1000]) await liar.say(subject, randomBytes(size))
      const before = await memory()
      const filler = 'x'.repeat(900_000)
      for (let count = 0; count < 300; count += 1) await liar.say(subject, part({}, filler, 1))
      await pause(1500)
      expect((await memory()) - before, 'megabytes').toBeLessThan(120)
      expect(events).toEqual([])
      const here = connect(one).channel(name)
      await joined(here)
      await here.send({ type: 'broadcast', event: 'e', payload: { text: 'true' } })
      await expect.poll(() => events).toEqual(['true'])
    })
  })

  describe('lose no row change', () => {
    /** Rows of one test, written a thousand a second. */
    const ROWS = 3000

    /** Writes the rows, and returns their ids. */
    async function write() {
      await host.psql('truncate flow')
      await host.psql(
        `do $$ begin
           for n in 1..${String(ROWS / 10)} loop
             for i in 1..10 loop insert into flow (body) values ('x'); commit; end loop;
             perform pg_sleep(0.005);
           end loop;
         end $$`,
      )
      return JSON.parse(await host.psql('select json_agg(id order by id) from flow')) as number[]
    }

    /** Watches the table; returns the ids that come. */
    async function watch(server: Server) {
      const received: number[] = []
      const channel = connect(server).channel(unique('flow'))
      await new Promise<void>((resolve) => {
        channel
          .on(
            'postgres_changes',
            { event: 'INSERT', schema: 'public', table: 'flow' },
            (change) => {
              received.push((change.new as { id: number }).id)
            },
          )
          .on('system', {}, ({ status }: { status: string }) => {
            if (status === 'ok') resolve()
          })
          .subscribe()
      })
      return received
    }

    async function expectAll(received: number[][], breaks: () => Promise<void>) {
      const writing = write()
      await pause(1000)
      await breaks()
      const ids = await writing
      for (const of of received) {
        await expect.poll(() => of.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(ids.length)
      }
      await pause(500)
      for (const of of received) expect(of).toEqual(ids)
    }

    test('while nothing ends', async () => {
      await expectAll([await watch(one), await watch(two)], () => Promise.resolve())
    })

    test('while NATS ends and comes back', async () => {
      await expectAll([await watch(one), await watch(two)], async () => {
        await nats.stop('SIGKILL')
        await pause(500)
        await nats.start()
      })
    })

    test('of the database’s broadcasts, which come once', async () => {
      const name = unique('news')
      const events: unknown[] = []
      for (const server of [one, two]) {
        const channel = connect(server).channel(name)
        channel.on('broadcast', { event: 'sent' }, ({ payload }: { payload: { n: number } }) => {
          events.push([server === one, payload.n])
        })
        await joined(channel)
      }
      await pause(500)
      await host.psql(`select realtime.send('{"n":1}', 'sent', '${name}', false)`)
      await expect.poll(() => events.length).toBe(2)
      await pause(500)
      expect(events.sort()).toEqual([
        [false, 1],
        [true, 1],
      ])
    })

    test('while the node that reads them is killed', { timeout: 120_000 }, async () => {
      // The first one has the slot; then the second one.
      await expectAll([await watch(two)], () => one.kill())
      one = await start()
      await heard(two, one)
      await expectAll([await watch(one)], () => two.kill())
    })
  })
})
