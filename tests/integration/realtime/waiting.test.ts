/** Joins whose reply waits until the row changes are certain: `postgres_changes_options.wait`. */
import { REALTIME_SUBSCRIBE_STATES } from '@supabase/supabase-js'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import { connect } from '../../support/client.ts'
import type { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { isOwn, somebody, sql, Tables, unique, Wires } from './stage.ts'
import { change, subscribed, type Binding } from './watch.ts'

const wires = new Wires()
afterEach(() => wires.close())

const SCHEMA = 'rt_waiting'
const tables = new Tables(SCHEMA)
const wait = { wait: true }

/** Returns what a join asks for that waits for all changes of a table. */
const waiting = (table: string, more: Binding = {}, options: object = wait) => ({
  postgres_changes: [{ event: '*', schema: SCHEMA, table, ...more }],
  postgres_changes_options: options,
})

/** Returns the reply that refuses a join. */
const refusal = (reason: unknown) => ({ status: 'error', response: { reason } })

describe.skipIf(!isOwn)('a join that waits for its row changes', () => {
  let name: string
  beforeAll(async () => {
    await tables.make()
    name = await tables.published(
      'things',
      'id int generated always as identity, n int, primary key (id)',
    )
    await sql(`create policy waiting on realtime.messages for select to authenticated
      using (realtime.topic() like 'waiting%')`)
  })
  afterAll(async () => {
    await sql('drop policy waiting on realtime.messages')
    await tables.drop()
  })

  test.for([
    ['public', false],
    ['private', true],
  ] as const)(
    'of a %s channel gets a reply, then a confirmation, and misses nothing',
    async ([, isPrivate]) => {
      const [wire, room] = [await wires.add(), unique('waiting')]
      const { token } = await somebody()
      const reply = await wire.join(room, { ...waiting('things'), private: isPrivate }, { token })
      expect(reply).toMatchObject({
        status: 'ok',
        response: { postgres_changes: [{ schema: SCHEMA, table: 'things' }] },
      })
      await sql(`insert into ${name} (n) values (7)`)
      expect((await change(wire, room)).record).toMatchObject({ n: 7 })
      expect(await wire.system(room, 0)).toEqual(subscribed(room))
    },
  )

  test('is refused with the reason why there are none', async () => {
    const wire = await wires.add()
    for (const [config, reason] of [
      [waiting('nowhere'), 'Please check Realtime is enabled for the given connect parameters'],
      [waiting('things', { filter: 'n=eq.x' }), 'invalid input syntax for type integer: "x"'],
      [waiting('things', { filter: 'n' }), 'Error parsing `filter` params'],
    ] as const) {
      const text = new RegExp(
        `^RealtimeDisabledForConfiguration: .*${reason.replaceAll(/[^\w ]/g, '.')}`,
      )
      const reply = await wire.join(unique('waiting'), config)
      expect(reply).toEqual(refusal(expect.stringMatching(text)))
    }
  })

  test('wants none, and does not wait', async () => {
    const wire = await wires.add()
    const config = { postgres_changes: [], postgres_changes_options: wait }
    const joined = { status: 'ok', response: { postgres_changes: [] } }
    expect(await wire.join(unique('waiting'), config)).toEqual(joined)
  })

  test('holds back what the client says meanwhile', async () => {
    const [wire, other, room] = [await wires.add(), await wires.add(), unique('waiting')]
    await other.mustJoin(room)
    const ref = wire.send(`realtime:${room}`, 'phx_join', { config: waiting('things') })
    wire.broadcast(room, 'early', { word: 'said' })
    await other.receiveBroadcast(room, 'early')
    expect(await wire.reply(ref)).toMatchObject({ status: 'ok' })
  })

  test('of the stock client reports that it is subscribed when it is', async () => {
    const { url, anonKey } = inject('access')
    const client = connect(url, anonKey)
    try {
      const room = client.channel(unique('waiting'), { config: { postgres_changes_options: wait } })
      const told = new Promise((resolve) => {
        const binding = { event: 'INSERT', schema: SCHEMA, table: 'things' } as const
        room.on('postgres_changes', binding, resolve)
      })
      await new Promise<void>((resolve, reject) => {
        room.subscribe((status, error) => {
          if (status === REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) resolve()
          else reject(error ?? new Error(status))
        })
      })
      await sql(`insert into ${name} (n) values (8)`)
      expect(await told).toMatchObject({ new: { n: 8 } })
    } finally {
      await client.removeAllChannels()
      await client.realtime.disconnect()
    }
  })
})

describe.skipIf(!isOwn)('without a replication stream', () => {
  let own: Server
  beforeAll(async () => {
    own = await start({ REALTIME_REPLICATION_URL: 'postgres://nobody@127.0.0.1:1/nothing' })
    await own.psql(`create table public.things (id int primary key);
      grant select on public.things to anon; alter publication supabase_realtime add table public.things`)
  })

  test('a join waits as long as it wants to, and others do not', async () => {
    const { url, anonKey } = own.access
    const wire = await wires.add({ url, key: anonKey })
    const config = {
      postgres_changes: [{ event: '*', schema: 'public', table: 'things' }],
      postgres_changes_options: { wait: true, timeout: 300 },
    }
    expect(await wire.join(unique('room'), config)).toEqual(
      refusal(
        'PostgresChangesSubscribeTimeout: Timed out after 300ms waiting for the postgres_changes subscription',
      ),
    )
    const { postgres_changes } = config
    for (const options of [{}, { wait: false }, { timeout: 300 }]) {
      const reply = await wire.join(unique('room'), {
        postgres_changes,
        postgres_changes_options: options,
      })
      expect(reply).toMatchObject({ status: 'ok' })
    }
  })
})
