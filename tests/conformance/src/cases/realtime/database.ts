import { group } from '../../case.ts'
import { anything, partly, some } from '../../match.ts'
import { joinPrivate, message } from '../../realtime.ts'

const docs = 'https://supabase.com/docs/guides/realtime/broadcast'
const changes = 'https://supabase.com/docs/guides/realtime/subscribing-to-database-changes'
const source = 'https://github.com/supabase/realtime/blob/main/lib'
const protocol = 'https://supabase.com/docs/guides/realtime/protocol'

export const database = group('realtime.database', {
  title: 'Broadcasts from the database',
  source: `${docs}#broadcast-from-the-database`,
  needs: ['sql', 'service'],
})

/** Calls one of the schema's functions, which call those of Realtime. */
const call = (name: string) => `/rest/v1/rpc/conformance_${name}`

database.case(
  'send.public',
  'realtime.send reaches public channels where the message is not private',
  async (t) => {
    const topic = t.unique('room')
    const phoenix = await t.phoenix({ vsn: '1.0.0' })
    await phoenix.join(`realtime:${topic}`)
    const payload = { word: 'hello' }
    await t.prepare('POST', call('send'), { payload, event: 'shout', topic, private: false })
    await phoenix.receives({
      topic: `realtime:${topic}`,
      event: 'broadcast',
      payload: partly({ type: 'broadcast', event: 'shout', payload: partly({ word: 'hello' }) }),
    })
  },
)

database.case(
  'send.private',
  'realtime.send reaches private channels by default, and those alone',
  async (t) => {
    const topic = `conformance-read-${t.unique('room')}`
    const user = await t.user()
    const [within, outside] = await Promise.all([
      joinPrivate(t, `realtime:${topic}`, user),
      t.phoenix(),
    ])
    await outside.join(`realtime:${topic}`)
    await t.prepare('POST', call('send_by_default'), { payload: { n: 1 }, event: 'shout', topic })
    await within.receives({ event: 'shout', payload: partly({ n: 1 }) })
    await outside.receivesNone({ event: 'shout' }, 200)
  },
)

database.case(
  'send.id',
  'a message of the database has an id, in its payload and beside it',
  { source: `${protocol}#broadcast-text-frame-1` },
  async (t) => {
    const topic = t.unique('room')
    const phoenix = await t.phoenix({ vsn: '1.0.0' })
    await phoenix.join(`realtime:${topic}`)
    await t.prepare('POST', call('send'), {
      ...{ payload: { n: 1 }, event: 'shout', topic, private: false },
    })
    await phoenix.receives({
      event: 'broadcast',
      payload: {
        ...{ type: 'broadcast', event: 'shout' },
        payload: { n: 1, id: some.uuid },
        meta: partly({ id: some.uuid }),
      },
    })
  },
)

database.case(
  'send.own-id',
  'an id that the payload has is kept',
  {
    source: `${source}/realtime/tenants/repo/migrations/20251103001201_broadcast_send_include_payload_id.ex`,
  },
  async (t) => {
    const topic = t.unique('room')
    const phoenix = await t.phoenix()
    await phoenix.join(`realtime:${topic}`)
    await t.prepare('POST', call('send'), {
      ...{ payload: { id: 'mine' }, event: 'shout', topic, private: false },
    })
    await phoenix.receives({ event: 'shout', payload: { id: 'mine' } })
  },
)

database.case(
  'send.client',
  'a stock client is told the id beside the payload',
  { source: `${protocol}#broadcast-binary-frame-1` },
  async (t) => {
    const topic = t.unique('room')
    const [received, states]: [unknown[], string[]] = [[], []]
    t.anon
      .channel(topic)
      .on('broadcast', { event: 'shout' }, (notice) => void received.push(notice))
      .subscribe((state) => void states.push(state))
    await t.eventually(() => states, ['SUBSCRIBED'])
    await t.prepare('POST', call('send'), {
      ...{ payload: { id: 'mine', word: 'telling' }, event: 'shout', topic, private: false },
    })
    const payload = { id: 'mine', word: 'telling' }
    await t.eventually(
      () => received,
      [{ ...message('shout', payload), meta: partly({ id: some.uuid }) }],
    )
  },
)

database.case('send-binary', 'realtime.send_binary sends bytes', async (t) => {
  const topic = t.unique('room')
  const phoenix = await t.phoenix()
  await phoenix.join(`realtime:${topic}`)
  await t.prepare('POST', call('send_bytes'), {
    ...{ hex: '00ff7f', event: 'bytes', topic, private: false },
  })
  await phoenix.receives({ topic: `realtime:${topic}`, event: 'bytes', payload: '00ff7f' })
})

const operations: Record<string, { old: object | null; row: object | null }> = {
  INSERT: { old: null, row: { body: 'one' } },
  UPDATE: { old: { body: 'one' }, row: { body: 'two' } },
  DELETE: { old: { body: 'two' }, row: null },
}
for (const [operation, { old, row }] of Object.entries(operations)) {
  database.case(
    `changes.${operation.toLowerCase()}`,
    'realtime.broadcast_changes tells what a trigger sees',
    { source: `${changes}#using-broadcast` },
    async (t) => {
      const key = t.unique('row')
      const [user, table] = [await t.user(), 'conformance_broadcast_rows']
      // The row is as it was before the operation that is looked at.
      const before = old ? [{ key, ...old }] : []
      if (before.length > 0) await t.rows(table, before, 'key')
      else t.removesRows(table, 'key', key)
      const phoenix = await joinPrivate(t, `realtime:conformance-read-${key}`, user)
      if (operation === 'INSERT') await t.prepare('POST', `/rest/v1/${table}`, { key, ...row })
      else if (operation === 'UPDATE')
        await t.prepare('PATCH', `/rest/v1/${table}?key=eq.${key}`, row ?? {})
      else await t.prepare('DELETE', `/rest/v1/${table}?key=eq.${key}`)
      await phoenix.receives({
        event: operation,
        payload: {
          id: anything,
          ...{ operation, table, schema: 'public' },
          record: row && { key, ...row },
          old_record: old && { key, ...old },
        },
      })
    },
  )
}

// Replay.

const replay = `${docs}#broadcast-replay`

database.case(
  'replay',
  'who joins a private channel is told earlier messages of the database, the oldest first',
  { source: replay },
  async (t) => {
    const topic = `conformance-read-${t.unique('room')}`
    const user = await t.user()
    const since = Date.now() - 60_000
    for (const n of [1, 2, 3]) {
      await t.prepare('POST', call('send'), {
        ...{ payload: { id: 'x', n }, event: 'shout', topic, private: true },
      })
    }
    const phoenix = await t.phoenix()
    const config = { private: true, broadcast: { replay: { since, limit: 2 } } }
    await phoenix.join(`realtime:${topic}`, config, { access_token: user.token })
    for (const n of [2, 3]) {
      await phoenix.receives({
        event: 'broadcast',
        payload: {
          ...message('shout', { id: 'x', n }),
          meta: { id: some.uuid, replayed: true },
        },
      })
    }
    await phoenix.receivesNone({ event: 'broadcast' }, 200)
  },
)

database.case(
  'replay.since',
  'messages before the point in time are not told again',
  { source: replay },
  async (t) => {
    const topic = `conformance-read-${t.unique('room')}`
    const user = await t.user()
    await t.prepare('POST', call('send'), {
      ...{ payload: { n: 1 }, event: 'shout', topic, private: true },
    })
    const phoenix = await t.phoenix()
    const config = { private: true, broadcast: { replay: { since: Date.now() + 60_000 } } }
    await phoenix.join(`realtime:${topic}`, config, { access_token: user.token })
    await phoenix.receivesNone({ event: 'broadcast' }, 300)
  },
)

database.case(
  'replay.public',
  'a public channel has nothing to be told again',
  { source: `${source}/realtime_web/channels/realtime_channel.ex` },
  async (t) => {
    const phoenix = await t.phoenix()
    const config = { broadcast: { replay: { since: Date.now() - 1000 } } }
    const ref = phoenix.push(`realtime:${t.unique('room')}`, 'phx_join', { config })
    const reason = 'UnableToReplayMessages: Replay is not allowed for public channels'
    await phoenix.receives({ ref, payload: { status: 'error', response: { reason } } })
  },
)

database.case(
  'replay.parameters',
  'a point in time that is no number is refused',
  { source: `${source}/realtime_web/channels/realtime_channel.ex` },
  async (t) => {
    const user = await t.user()
    const phoenix = await t.phoenix()
    const config = { private: true, broadcast: { replay: { since: 'yesterday' } } }
    const topic = `realtime:conformance-read-${t.unique('room')}`
    const ref = phoenix.push(topic, 'phx_join', { config, access_token: user.token })
    const reason = 'UnableToReplayMessages: Replay params are not valid'
    await phoenix.receives({ ref, payload: { status: 'error', response: { reason } } })
  },
)

database.case(
  'replay.client',
  'a stock client asks for earlier messages',
  { source: replay },
  async (t) => {
    const topic = `conformance-read-${t.unique('room')}`
    const user = await t.user()
    const since = Date.now() - 60_000
    await t.prepare('POST', call('send'), {
      ...{ payload: { id: 'x', word: 'earlier' }, event: 'shout', topic, private: true },
    })
    const received: unknown[] = []
    await user.client.realtime.setAuth(user.token)
    user.client
      .channel(topic, { config: { private: true, broadcast: { replay: { since, limit: 10 } } } })
      .on('broadcast', { event: 'shout' }, (notice) => void received.push(notice))
      .subscribe()
    await t.eventually(
      () => received,
      [
        {
          ...message('shout', { id: 'x', word: 'earlier' }),
          meta: { id: some.uuid, replayed: true },
        },
      ],
    )
  },
)
