/** Broadcasts that their senders have stored: `persist` of realtime-js. */
import { REALTIME_SUBSCRIBE_STATES } from '@supabase/supabase-js'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import { connect } from '../../support/client.ts'
import { isOwn, moment, post, somebody, sql, unique, Wires } from './stage.ts'
import type { Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const ok = { status: 'ok', response: {} }
const anId = expect.stringMatching(/^[0-9a-f-]{36}$/) as string
const PRIVATE = { private: true, broadcast: { ack: true } }

/** Topics of which broadcasts may be stored, and of which they may not. */
const [kept, unkept] = [() => unique('kept'), () => unique('unkept')]

/** Returns the stored rows of a topic, each with its lifetime in seconds. */
const rows = async (name: string) =>
  JSON.parse(
    await sql(`select coalesce(json_agg(json_build_object('event', event, 'payload', payload,
        'bytes', encode(binary_payload, 'hex'), 'extension', extension, 'private', private,
        'seconds', extract(epoch from expires_at - inserted_at)::int) order by inserted_at), '[]')
      from realtime.messages where topic = '${name}'`),
  ) as unknown[]

const row = (event: string, payload: unknown, bytes: string | null, seconds: number) => ({
  event,
  payload,
  bytes,
  extension: 'broadcast',
  private: true,
  seconds,
})

/** Sends a broadcast with metadata, and returns the reply. */
const send = (wire: Wire, name: string, event: string, payload: unknown, metadata: unknown) =>
  wire.reply(wire.binary(name, event, payload, '', JSON.stringify(metadata)))

describe.skipIf(!isOwn)('a broadcast', () => {
  beforeAll(() =>
    sql(`create policy st_read on realtime.messages for select to authenticated
        using (realtime.topic() like '%kept%');
      create policy st_send on realtime.messages for insert to authenticated
        with check (extension = 'broadcast' and realtime.topic() like '%kept%');
      create policy st_store on realtime.messages for insert to authenticated
        with check (extension = 'persistence' and realtime.topic() like 'kept%')`),
  )
  afterAll(() =>
    sql(`drop policy st_read on realtime.messages; drop policy st_send on realtime.messages;
      drop policy st_store on realtime.messages`),
  )

  test('is replayed to nobody who may only see who is present', async () => {
    const [name, { token }] = [unique('presence'), await somebody()]
    const replay = {
      private: true,
      presence: { enabled: true },
      broadcast: { replay: { since: 0 } },
    }
    await sql(`create policy st_presence on realtime.messages for select to authenticated
      using (extension = 'presence' and realtime.topic() = '${name}')`)
    const wire = await wires.add()
    expect(await wire.join(name, replay, { token })).toEqual({
      status: 'error',
      response: {
        reason: `Unauthorized: You do not have permissions to read from this Channel topic: ${name}`,
      },
    })
    await wire.mustJoin(name, { private: true, presence: { enabled: true } }, { token })
    await sql('drop policy st_presence on realtime.messages')
  })

  test('is stored if its sender wants it, comes once, and is replayed', async () => {
    const [name, { token }] = [kept(), await somebody()]
    const [wire, other] = [await wires.add(), await wires.add()]
    await wire.mustJoin(name, PRIVATE, { token })
    await other.mustJoin(name, PRIVATE, { token })
    const stored = { status: 'ok', response: { id: anId } }
    expect(await send(wire, name, 'one', { n: 1 }, { persist: { ttl: 60 } })).toEqual(stored)
    expect(await send(wire, name, 'two', new Uint8Array([0, 255]), { persist: true })).toEqual(
      stored,
    )
    expect(await send(wire, name, 'three', { n: 3 }, {})).toEqual(ok)
    expect(await rows(name)).toEqual([
      row('one', { n: 1 }, null, 60),
      row('two', null, '00ff', 259_200),
    ])
    for (const event of ['one', 'two', 'three']) await other.event(name, event)
    await moment(1000)
    expect(other.received.filter(({ kind }) => kind !== 'text')).toEqual([])

    await sql(`insert into realtime.messages (topic, extension, event, payload, private, skip_broadcast, expires_at)
      values ('${name}', 'broadcast', 'gone', '{}', true, true, now() at time zone 'utc' - interval '1 second')`)
    const late = await wires.add()
    await late.mustJoin(name, { ...PRIVATE, broadcast: { replay: { since: 0 } } }, { token })
    expect(await late.receiveBroadcast(name, 'one')).toMatchObject({
      payload: { n: 1 },
      meta: { id: anId, replayed: true },
    })
    await late.event(name, 'two')
    await late.flush()
    expect(JSON.stringify(late.received)).not.toContain('gone')
  })

  test('is only sent where no policy lets it be stored, and on public channels', async () => {
    const [closed, open, { token }] = [unkept(), kept(), await somebody()]
    const [wire, other] = [await wires.add(), await wires.add()]
    for (const [name, isPrivate] of [
      [closed, true],
      [open, false],
    ] as const) {
      const config = { ...PRIVATE, private: isPrivate }
      await wire.mustJoin(name, config, { token })
      await other.mustJoin(name, config, { token })
      expect(await send(wire, name, 'one', { n: 1 }, { persist: true })).toEqual(ok)
      await other.event(name, 'one')
      expect(await rows(name)).toEqual([])
    }
  })

  test('is refused with a lifetime that is none', async () => {
    const [name, { token }] = [kept(), await somebody()]
    const [wire, other] = [await wires.add(), await wires.add()]
    await wire.mustJoin(name, PRIVATE, { token })
    await other.mustJoin(name, PRIVATE, { token })
    for (const ttl of [0, 259_201, 'soon'])
      expect(await send(wire, name, 'one', {}, { persist: { ttl } })).toEqual({
        status: 'error',
        response: { error: 'invalid_persist_ttl' },
      })
    expect(await send(wire, name, 'two', {}, {})).toEqual(ok)
    await other.event(name, 'two')
    expect(other.received.filter(({ event }) => event === 'one')).toEqual([])
    expect(await rows(name)).toEqual([])
  })

  test('over HTTP is stored alike', async () => {
    const [name, { token }] = [kept(), await somebody()]
    const headers = { authorization: `Bearer ${token}` }
    const path = (topic: string, query: string) => `broadcast/${topic}/events/one?${query}`
    for (const query of ['persist=true', 'persist%5Bttl%5D=60', 'persist=false'])
      expect((await post(path(name, `private=true&${query}`), '{"n":1}', headers)).status).toBe(202)
    expect(await rows(name)).toEqual([
      row('one', { n: 1 }, null, 259_200),
      row('one', { n: 1 }, null, 60),
    ])
    const closed = unkept()
    expect((await post(path(closed, 'private=true&persist=true'), '{}', headers)).status).toBe(202)
    expect(await rows(closed)).toEqual([])
    for (const [query, error] of [
      ['persist=true', 'can only be used on private channels'],
      ['private=true&persist[ttl]=0', expect.stringContaining('1 to 259200') as string],
    ] as const) {
      const response = await post(path(name, query), '{}', headers)
      expect(response.status).toBe(422)
      expect(await response.json()).toEqual({ errors: { persist: [error] } })
    }
  })

  test('of the stock client is stored', async () => {
    const client = connect(inject('access').url, inject('access').serviceKey)
    const name = kept()
    const room = client.channel(name, { config: PRIVATE })
    try {
      await new Promise<void>((resolve) => {
        room.subscribe((status) => {
          if (status === REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) resolve()
        })
      })
      const message = { type: 'broadcast', event: 'one', payload: { n: 1 } } as const
      expect(await room.send({ ...message, persist: { ttl: 60 } })).toBe('ok')
      expect(await room.httpSend('two', { n: 2 }, { persist: true })).toEqual({ success: true })
      expect(await rows(name)).toEqual([
        row('one', { n: 1 }, null, 60),
        row('two', { n: 2 }, null, 259_200),
      ])
    } finally {
      await client.removeAllChannels()
    }
  })
})
