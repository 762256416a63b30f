import { group } from '../../case.ts'
import { partly, some } from '../../match.ts'
import type { Phoenix } from '../../phoenix.ts'
import { shut } from '../../realtime.ts'

const docs = 'https://supabase.com/docs/guides/realtime/presence'
const protocol = 'https://supabase.com/docs/guides/realtime/protocol'
const source = 'https://github.com/supabase/realtime/blob/main/lib/realtime_web/channels'
const handler = `${source}/realtime_channel/presence_handler.ex`

export const presence = group('realtime.presence', {
  title: 'Presence',
  source: docs,
})

const done = { status: 'ok', response: {} }

function track(phoenix: Phoenix, topic: string, payload: unknown, event = 'track'): string {
  return phoenix.push(topic, 'presence', { type: 'presence', event, payload })
}

/** Returns one client of a key with one payload, as a server tells it. */
const one = (key: string, payload: object, rest: object = {}) => ({
  [key]: { metas: [{ ...payload, ...rest, phx_ref: some.string }] },
})

presence.case(
  'state.empty',
  'who joins with presence is told the state, even where nobody is there',
  { source: `${protocol}#presence_state` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { presence: { enabled: true } })
    await phoenix.receives({ topic, event: 'presence_state', payload: {} })
  },
)

presence.case(
  'state.disabled',
  'without config.presence.enabled no state is told',
  { source: `${protocol}#phx_join` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { presence: { enabled: false } })
    await phoenix.receivesNone({ event: 'presence_state' }, 300)
  },
)

presence.case(
  'track',
  'what a client tracks is told to all who are there, and to itself',
  { source: `${protocol}#presence_diff` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
    const config = { presence: { enabled: true, key: 'ada' } }
    await Promise.all([from.join(topic, config), to.join(topic, { presence: { enabled: true } })])
    const ref = track(from, topic, { mood: 'good' })
    await from.receives({ topic, event: 'phx_reply', ref, payload: done })
    const payload = { joins: one('ada', { mood: 'good' }), leaves: {} }
    await from.receives({ topic, event: 'presence_diff', payload })
    await to.receives({ topic, event: 'presence_diff', payload })
  },
)

presence.case(
  'state',
  'who joins later is told who is there',
  { source: `${protocol}#presence_state` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [first, second] = await Promise.all([t.phoenix(), t.phoenix({ vsn: '1.0.0' })])
    await first.join(topic, { presence: { enabled: true, key: 'ada' } })
    const ref = track(first, topic, { mood: 'good', n: 1 })
    await first.receives({ topic, event: 'phx_reply', ref, payload: done })
    await second.join(topic, { presence: { enabled: true, key: 'bob' } })
    const payload = one('ada', { mood: 'good', n: 1 })
    await second.receives({ topic, event: 'presence_state', payload })
  },
)

presence.case(
  'key.made',
  'a client without a key gets a UUID',
  { source: `${docs}#presence-key` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { presence: { enabled: true, key: '' } })
    track(phoenix, topic, { n: 1 })
    const message = await phoenix.receives({
      ...{ topic, event: 'presence_diff' },
      payload: partly({ leaves: {} }),
    })
    const [key = ''] = Object.keys((message.payload as { joins: object }).joins)
    t.equal(key, some.uuid)
  },
)

presence.case(
  'key.shared',
  'clients of one key have an entry each',
  { source: `${protocol}#presence_state` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const sockets = await Promise.all([t.phoenix(), t.phoenix()])
    for (const [n, phoenix] of sockets.entries()) {
      await phoenix.join(topic, { presence: { enabled: true, key: 'ada' } })
      const ref = track(phoenix, topic, { n })
      await phoenix.receives({ topic, event: 'phx_reply', ref, payload: done })
    }
    const third = await t.phoenix()
    await third.join(topic, { presence: { enabled: true } })
    const message = await third.receives({
      topic,
      event: 'presence_state',
      payload: partly({ ada: some.object }),
    })
    const { metas } = (message.payload as { ada: { metas: { n: number }[] } }).ada
    await t.eventually(() => metas.map(({ n }) => n).sort(), [0, 1])
  },
)

presence.case(
  'update',
  'tracking anew replaces what was told before',
  { source: handler },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { presence: { enabled: true, key: 'ada' } })
    track(phoenix, topic, { mood: 'good' })
    const joins = one('ada', { mood: 'good' })
    await phoenix.receives({ topic, event: 'presence_diff', payload: { joins, leaves: {} } })
    track(phoenix, topic, { mood: 'better' })
    const payload = {
      joins: one('ada', { mood: 'better' }, { phx_ref_prev: some.string }),
      leaves: joins,
    }
    await phoenix.receives({ topic, event: 'presence_diff', payload })
  },
)

presence.case('same', 'tracking the same again changes nothing', { source: handler }, async (t) => {
  const topic = `realtime:${t.unique('room')}`
  const phoenix = await t.phoenix()
  await phoenix.join(topic, { presence: { enabled: true, key: 'ada' } })
  track(phoenix, topic, { n: 1 })
  const joins = one('ada', { n: 1 })
  await phoenix.receives({ topic, event: 'presence_diff', payload: { joins, leaves: {} } })
  const ref = track(phoenix, topic, { n: 1 })
  await phoenix.receives({ topic, event: 'phx_reply', ref, payload: done })
  await phoenix.receivesNone({ event: 'presence_diff' }, 200)
})

const leaving: Record<string, (phoenix: Phoenix, topic: string) => unknown> = {
  untrack: (phoenix, topic) =>
    phoenix.push(topic, 'presence', { type: 'presence', event: 'untrack' }),
  leave: (phoenix, topic) => phoenix.push(topic, 'phx_leave'),
  close: (phoenix) => {
    phoenix.socket.close()
  },
}
for (const [name, leave] of Object.entries(leaving)) {
  presence.case(
    `leaves.${name}`,
    'who is there no more is told as one who has left',
    { source: `${protocol}#presence_diff` },
    async (t) => {
      const topic = `realtime:${t.unique('room')}`
      const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
      await from.join(topic, { presence: { enabled: true, key: 'ada' } })
      await to.join(topic, { presence: { enabled: true } })
      track(from, topic, { n: 1 })
      const there = one('ada', { n: 1 })
      await to.receives({ topic, event: 'presence_diff', payload: { joins: there, leaves: {} } })
      leave(from, topic)
      await to.receives({ topic, event: 'presence_diff', payload: { joins: {}, leaves: there } })
    },
  )
}

presence.case(
  'enables',
  'a client that has not enabled presence is seen when it tracks',
  {
    source:
      'https://github.com/supabase/supabase-js/blob/master/packages/core/realtime-js/src/RealtimeChannel.ts',
  },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
    await from.join(topic, { presence: { key: 'ada' } })
    await to.join(topic, { presence: { enabled: true } })
    track(from, topic, { n: 1 })
    const payload = { joins: one('ada', { n: 1 }), leaves: {} }
    await to.receives({ topic, event: 'presence_diff', payload })
  },
)

presence.case(
  'payload',
  'what is tracked has to be an object',
  { source: `${protocol}#presence-errors` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { presence: { enabled: true } })
    const ref = track(phoenix, topic, 'text')
    const reason = 'Presence track payload must be a map'
    const payload = { status: 'error', response: { reason } }
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload })
  },
)

presence.case(
  'unknown-event',
  'an event of presence that is not there is refused without a reason',
  { source: `${protocol}#presence-errors` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { presence: { enabled: true } })
    const ref = track(phoenix, topic, {}, 'dance')
    const payload = { status: 'error', response: {} }
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload })
  },
)

presence.case(
  'letters',
  'events of presence may be in capitals',
  { source: handler },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { presence: { enabled: true, key: 'ada' } })
    track(phoenix, topic, { n: 1 }, 'TRACK')
    const payload = { joins: one('ada', { n: 1 }), leaves: {} }
    await phoenix.receives({ topic, event: 'presence_diff', payload })
  },
)

presence.case(
  'rate',
  'a client that tracks again and again has its channel closed',
  { source: `${protocol}#channel-level-system-errors` },
  async (t) => {
    const name = t.unique('room')
    const topic = `realtime:${name}`
    const phoenix = await t.phoenix()
    const join = await phoenix.join(topic)
    for (let n = 0; n < 30; n += 1) track(phoenix, topic, { n })
    const payload = shut(name, 'Client presence rate limit exceeded')
    await phoenix.receives({ topic, event: 'system', payload })
    await phoenix.receives({ topic, event: 'phx_close', ref: join, payload: {} })
  },
)

presence.case(
  'client',
  'a stock client has the state of all who are there, and hears who comes and goes',
  { source: `${docs}#sync-and-track-state` },
  async (t) => {
    const name = t.unique('room')
    const events: unknown[] = []
    const states: string[] = []
    const [ada, bob] = [t.client(t.target.anonKey), t.client(t.target.anonKey)]
    const room = bob
      .channel(name)
      .on('presence', { event: 'join' }, ({ key, newPresences }) => {
        events.push(['join', key, newPresences])
      })
      .on('presence', { event: 'leave' }, ({ key, leftPresences }) => {
        events.push(['leave', key, leftPresences])
      })
      .subscribe((state) => void states.push(state))
    const own = ada
      .channel(name, { config: { presence: { key: 'ada' } } })
      .subscribe((state) => void states.push(state))
    await t.eventually(() => states, ['SUBSCRIBED', 'SUBSCRIBED'])
    const tracked = await own.track({ mood: 'splendid' })
    const there = [{ presence_ref: some.string, mood: 'splendid' }]
    await t.eventually(() => [tracked, room.presenceState()], ['ok', { ada: there }])
    const left = await own.untrack()
    await t.eventually(() => [left, room.presenceState()], ['ok', {}])
    await t.eventually(
      () => events,
      [
        ['join', 'ada', there],
        ['leave', 'ada', there],
      ],
    )
  },
)
