/** Broadcasts that come from the database. */
import { afterEach, describe, expect, inject, test } from 'vitest'

import { isOwn, moment, somebody, sql, unique, Wires } from './stage.ts'
import type { Frame, Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const anId = expect.stringMatching(UUID) as string

const PRIVATE = { private: true }

/** Returns a socket that may join every private channel. */
const trusted = (vsn = '2.0.0') => wires.add({ vsn, key: inject('access').serviceKey })

/** Sends a public broadcast from the database. */
const send = (name: string, event: string, payload: object = {}) =>
  sql(`select realtime.send('${JSON.stringify(payload)}', '${event}', '${name}', false)`)

const sendPrivately = (name: string, event: string, payload: object = {}) =>
  sql(`select realtime.send('${JSON.stringify(payload)}', '${event}', '${name}')`)

/** Joins, and returns once broadcasts of the database arrive. */
async function listen(wire: Wire, name: string, config: { private?: boolean } = {}) {
  await wire.mustJoin(name, config)
  for (let times = 0; times < 20; times++) {
    const probe = `probe-${times}`
    await sql(
      `select realtime.send('{}', '${probe}', '${name}', ${String(config.private ?? false)})`,
    )
    const isIt = (frame: Frame) => frame.event === probe || payloadOf(frame).event === probe
    const arrival = await wire.take(isIt, probe, 500).catch(() => null)
    if (arrival !== null) return
  }
  throw new Error(`nothing from the database is heard on ${name}`)
}

interface BroadcastPayload {
  event?: string
  payload?: unknown
  meta?: { id: string; replayed?: boolean }
}

/** Returns the payload of a broadcast in text. */
const payloadOf = ({ payload }: Frame) => (payload ?? {}) as BroadcastPayload

const broadcasts = ({ received }: Wire) =>
  received.filter(({ event, kind }) => kind !== 'text' || event === 'broadcast')

describe.skipIf(!isOwn)('a broadcast of the database', () => {
  test('may be bytes, which older clients do not get', async () => {
    const name = unique('room')
    const [young, old] = [await wires.add(), await wires.add({ vsn: '1.0.0' })]
    for (const wire of [young, old]) await listen(wire, name)
    await sql(`select realtime.send_binary('\\x00ff80'::bytea, 'bytes', '${name}', false)`)
    await send(name, 'after')
    const frame = await young.receiveBinaryBroadcast(name, 'bytes')
    expect(frame.payload).toEqual(Buffer.from([0, 255, 128]))
    expect(JSON.parse(frame.metadata)).toEqual({ id: anId })
    await old.receiveBroadcast(name, 'after')
    expect(broadcasts(old)).toEqual([])
  })

  test('is a row that anybody with the right inserts', async () => {
    const name = unique('room')
    const wire = await wires.add()
    await listen(wire, name)
    await sql(`
      insert into realtime.messages (topic, extension, event, payload, private)
      values ('${name}', 'broadcast', 'row', '{"n": 12345678901234567890}', false),
             ('${name}', 'broadcast', null, '{}', false), ('${name}', 'broadcast', 'nothing', null, false),
             ('${name}', 'broadcast', 'unsure', '{}', null), ('${name}', 'broadcast', 'last', '[1]', false)`)
    const row = await wire.receiveBinaryBroadcast(name, 'row')
    expect(row.raw.toString()).toContain('12345678901234567890')
    expect((await wire.receiveBinaryBroadcast(name, 'last')).payload).toEqual([1])
    expect(broadcasts(wire)).toEqual([])
  })

  test('is never heard if it is rolled back', async () => {
    const name = unique('room')
    const wire = await wires.add()
    await listen(wire, name)
    await sql(`begin; select realtime.send('{}', 'undone', '${name}', false); rollback`)
    await sql(`begin; savepoint s; select realtime.send('{}', 'undone', '${name}', false); rollback to s;
               select realtime.send('{}', 'done', '${name}', false); commit`)
    await wire.receiveBinaryBroadcast(name, 'done')
    expect(broadcasts(wire)).toEqual([])
  })

  test('keeps its place among others', async () => {
    const name = unique('room')
    const wire = await wires.add()
    await listen(wire, name)
    const say = (from: number, to: number) =>
      `select realtime.send(jsonb_build_object('n', n), 'count', '${name}', false)
       from generate_series(${from}, ${to}) n order by n`
    await sql(say(1, 500))
    await sql(say(501, 1000))
    await expect.poll(() => broadcasts(wire).length).toBe(1000)
    const numbers = broadcasts(wire).map(({ payload }) => (payload as { n: number }).n)
    expect(numbers).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1))
  })

  test('that cannot be sent is a warning', async () => {
    expect(await sql(`select realtime.send('{}', 'x', null, false); select 'goes on'`)).toContain(
      'goes on',
    )
    const name = unique('room')
    const wire = await wires.add()
    await listen(wire, name)
    const { id } = await somebody()
    // Nobody has allowed users to write here.
    await sql(`begin; set local role authenticated; set local request.jwt.claims = '{"sub":"${id}"}';
               select realtime.send('{}', 'refused', '${name}', false); commit`)
    await send(name, 'granted')
    await wire.receiveBinaryBroadcast(name, 'granted')
    expect(broadcasts(wire)).toEqual([])
  })

  test('of a change is refused for what is no change of a row', async () => {
    for (const rest of [
      `'TRUNCATE', 't', 'public', null, null`,
      `'INSERT', 't', 'public', null, null, 'STATEMENT'`,
    ])
      await expect(
        sql(`select realtime.broadcast_changes('topic', 'event', ${rest})`),
      ).rejects.toThrow()
  })
})

describe.skipIf(!isOwn)('a replay', () => {
  /** Returns the text broadcasts that have come to the topic. */
  const texts = ({ received }: Wire) =>
    received.filter(({ event, kind }) => kind === 'text' && event === 'broadcast')

  const since = (ms: number, limit?: number) => ({
    private: true,
    broadcast: { replay: { since: ms, ...(limit === undefined ? {} : { limit }) } },
  })

  /** Writes thirty private messages, a second apart, until now, and one that is public. */
  async function past(name: string) {
    await sql(`
      insert into realtime.messages (topic, extension, event, payload, private, inserted_at)
      select '${name}', 'broadcast', 'e' || n, jsonb_build_object('n', n), true,
             (now() at time zone 'utc') - (31 - n) * interval '1 second'
      from generate_series(1, 30) n;
      insert into realtime.messages (topic, extension, event, payload, private)
      values ('${name}', 'broadcast', 'public', '{}', false), ('${name}', 'presence', 'other', '{}', true)`)
    // Who joins before the stream has passed them hears them as new ones.
    await listen(await trusted(), unique('wait'), PRIVATE)
  }

  test.for(['1.0.0', '2.0.0'])('brings what was missed, in version %s', async (vsn) => {
    const name = unique('room')
    await past(name)
    const wire = await trusted(vsn)
    const ref = wire.sendJoin(name, since(0))
    await expect.poll(() => texts(wire).length).toBe(25)
    const [first] = wire.received
    expect(first).toMatchObject({ event: 'phx_reply', ref })
    const messages = texts(wire).map(payloadOf)
    expect(messages.map(({ event }) => event)).toEqual(
      Array.from({ length: 25 }, (_, index) => `e${index + 6}`),
    )
    expect(messages[0]).toEqual({
      type: 'broadcast',
      event: 'e6',
      payload: { n: 6 },
      meta: { id: anId, replayed: true },
    })
    for (const frame of texts(wire)) {
      expect(frame.ref).toBeNull()
      if (vsn === '2.0.0') expect(frame.joinRef).toBe(ref)
    }
    await moment()
    expect(texts(wire)).toHaveLength(25)
  })

  test('brings bytes to those who can read them', async () => {
    const name = unique('room')
    const begin = Date.now() - 1000
    await sql(`select realtime.send_binary('\\x0102', 'bytes', '${name}');
               select realtime.send('{}', 'text', '${name}')`)
    const [young, old] = [await trusted(), await trusted('1.0.0')]
    for (const wire of [young, old]) await wire.mustJoin(name, since(begin))
    const frame = await young.receiveBinaryBroadcast(name, 'bytes')
    expect(frame.payload).toEqual(Buffer.from([1, 2]))
    expect(JSON.parse(frame.metadata)).toEqual({ id: anId, replayed: true })
    for (const wire of [young, old])
      expect(await wire.receiveBroadcast(name, 'text')).toMatchObject({ meta: { replayed: true } })
    await moment()
    expect(broadcasts(old)).toEqual([])
  })

  test('and the stream bring every message once', async () => {
    await listen(await trusted(), unique('keep'), PRIVATE)
    for (let round = 0; round < 4; round++) {
      const name = unique('room')
      const begin = Date.now() - 1000
      const sending = (async () => {
        for (let n = 0; n < 8; n++) await sendPrivately(name, `e${n}`)
      })()
      const wire = await trusted()
      await moment(100 * round)
      await wire.mustJoin(name, since(begin))
      await sending
      await moment()
      const events = broadcasts(wire).map((frame) =>
        frame.kind === 'text' ? payloadOf(frame).event : frame.event,
      )
      expect(events).toEqual(Array.from({ length: 8 }, (_, n) => `e${n}`))
    }
  })

  test.for([[0], [26], [null]])('is of 1 to 25 messages, whatever %j asks for', async ([limit]) => {
    const wire = await trusted()
    const replay = { since: 0, limit }
    const reply = await wire.join(unique('room'), { ...PRIVATE, broadcast: { replay } })
    expect(reply).toMatchObject({ status: 'ok' })
  })

  test.for<[unknown]>([[{ since: 0, limit: 'x' }], [{ since: 'yesterday', limit: 5 }]])(
    'cannot be asked for with %j',
    async ([replay]) => {
      const wire = await trusted()
      expect(await wire.join(unique('room'), { ...PRIVATE, broadcast: { replay } })).toEqual({
        status: 'error',
        response: { reason: 'UnableToReplayMessages: Replay params are not valid' },
      })
    },
  )
})

describe.skipIf(!isOwn)('what users of the database rely on', () => {
  test('is there', async () => {
    const columns = await sql(`
      select column_name || ' ' || udt_name || ' ' || is_nullable from information_schema.columns
      where table_schema = 'realtime' and table_name = 'messages' order by 1`)
    expect(columns.split('\n')).toEqual([
      'binary_payload bytea YES',
      'event text YES',
      'expires_at timestamp YES',
      'extension text NO',
      'id uuid NO',
      'inserted_at timestamp NO',
      'payload jsonb YES',
      'private bool YES',
      'skip_broadcast bool NO',
      'topic text NO',
      'updated_at timestamp NO',
    ])
    expect(
      await sql(
        `select pubname from pg_publication where pubname like 'supabase_realtime%' order by 1`,
      ),
    ).toBe('supabase_realtime\nsupabase_realtime_messages_publication')
    for (const role of ['anon', 'authenticated', 'service_role']) {
      expect(await sql(`select has_schema_privilege('${role}', 'realtime', 'usage')`)).toBe('t')
      const rights = 'select, insert, update'
        .split(', ')
        .map((right) => `has_table_privilege('${role}', 'realtime.messages', '${right}')`)
      expect(await sql(`select ${rights.join(' and ')}`)).toBe('t')
    }
    expect(
      await sql(`select relrowsecurity from pg_class where oid = 'realtime.messages'::regclass`),
    ).toBe('t')
    await expect(
      sql(
        `insert into realtime.messages (topic, extension, payload, binary_payload) values ('t', 'broadcast', '{}', '')`,
      ),
    ).rejects.toThrow('messages_payload_exclusive')
    expect(await sql('show wal_level')).toBe('logical')
  })

  test('has a partition for each day from yesterday to three days ahead', async () => {
    const day = 86_400_000
    const names = [-1, 0, 1, 2, 3].map((days) => {
      const date = new Date(Date.now() + days * day).toISOString().slice(0, 10)
      return `messages_${date.replaceAll('-', '_')}`
    })
    const found = await sql(
      `select inhrelid::regclass::text from pg_inherits where inhparent = 'realtime.messages'::regclass order by 1`,
    )
    const partitions = found.split('\n').map((name) => name.replace(/^realtime\./, ''))
    expect(partitions).toEqual(expect.arrayContaining(names))
  })

  test('has the topic at hand', async () => {
    expect(await sql(`select realtime.topic() is null`)).toBe('t')
    expect(await sql(`set realtime.topic = ''; select realtime.topic() is null`)).toBe('t')
    expect(await sql(`set realtime.topic = 'a:b'; select realtime.topic()`)).toBe('a:b')
  })
})
