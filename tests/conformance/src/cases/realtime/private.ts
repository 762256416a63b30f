import { group } from '../../case.ts'
import { partly, some } from '../../match.ts'
import { joinPrivate, message, pushFrame } from '../../realtime.ts'

const docs = 'https://supabase.com/docs/guides/realtime/authorization'
const protocol = 'https://supabase.com/docs/guides/realtime/protocol'

export const privateChannel = group('realtime.private', {
  title: 'Private channels',
  source: docs,
  needs: ['sql', 'service'],
})

/** Returns the reply to a join that no policy allows. */
const refusal = (name: string) => ({
  status: 'error',
  response: {
    reason: `Unauthorized: You do not have permissions to read from this Channel topic: ${name}`,
  },
})

privateChannel.case('refused', 'a channel that no policy opens is not joined', async (t) => {
  const name = t.unique('closed')
  const user = await t.user()
  const phoenix = await t.phoenix()
  const ref = phoenix.push(`realtime:${name}`, 'phx_join', {
    config: { private: true },
    access_token: user.token,
  })
  await phoenix.receives({ event: 'phx_reply', ref, payload: refusal(name) })
})

privateChannel.case('role', 'a policy for users does not let the anonymous key in', async (t) => {
  const name = `conformance-read-${t.unique('room')}`
  const phoenix = await t.phoenix()
  const ref = phoenix.push(`realtime:${name}`, 'phx_join', { config: { private: true } })
  await phoenix.receives({ event: 'phx_reply', ref, payload: refusal(name) })
})

privateChannel.case(
  'user',
  'policies look at the claims of the token: a user’s own channel is joined',
  async (t) => {
    const user = await t.user()
    const phoenix = await joinPrivate(t, `realtime:conformance-own-${user.id}`, user)
    const ref = phoenix.push('phoenix', 'heartbeat')
    await phoenix.receives({ ref, payload: { status: 'ok', response: {} } })
  },
)

privateChannel.case(
  'other-user',
  'policies look at the claims of the token: another user’s channel is not joined',
  async (t) => {
    const [user, other] = [await t.user(), await t.user()]
    const name = `conformance-own-${other.id}`
    const phoenix = await t.phoenix()
    const ref = phoenix.push(`realtime:${name}`, 'phx_join', {
      config: { private: true },
      access_token: user.token,
    })
    await phoenix.receives({ event: 'phx_reply', ref, payload: refusal(name) })
  },
)

privateChannel.case(
  'service',
  'the service key joins any channel',
  {
    source:
      'https://supabase.com/docs/guides/database/postgres/row-level-security#bypassing-row-level-security',
  },
  async (t) => {
    const phoenix = await t.phoenix({ as: 'service' })
    await phoenix.join(`realtime:${t.unique('closed')}`, { private: true })
  },
)

privateChannel.case(
  'broadcast',
  'who may write is heard by all who may read',
  { source: `${docs}#allow-a-user-to-send-a-broadcast-message` },
  async (t) => {
    const topic = `realtime:conformance-write-${t.unique('room')}`
    const users = [await t.user(), await t.user()] as const
    const [from, to] = await Promise.all(users.map((user) => joinPrivate(t, topic, user)))
    from?.push(topic, 'broadcast', message('shout', { n: 1 }))
    await to?.receives({ topic, event: 'broadcast', payload: message('shout', { n: 1 }) })
  },
)

privateChannel.case(
  'broadcast.binary',
  'binary frames are sent in private channels, too',
  { source: `${docs}#allow-a-user-to-send-a-broadcast-message` },
  async (t) => {
    const topic = `realtime:conformance-say-${t.unique('room')}`
    const phoenix = await joinPrivate(t, topic, await t.user(), { broadcast: { self: true } })
    phoenix.socket.send(pushFrame({ ref: '8', topic, event: 'shout', payload: { n: 1 } }))
    await phoenix.receives({ topic, event: 'shout', payload: { n: 1 } })
  },
)

privateChannel.case(
  'broadcast.denied',
  'what somebody sends who may not write is dropped, and never acknowledged',
  { source: `${protocol}#broadcast-errors` },
  async (t) => {
    const topic = `realtime:conformance-read-${t.unique('room')}`
    const user = await t.user()
    const [from, to] = await Promise.all([
      joinPrivate(t, topic, user, { broadcast: { ack: true } }),
      joinPrivate(t, topic, user),
    ])
    const ref = from.push(topic, 'broadcast', message('shout', { n: 1 }))
    await Promise.all([from.receivesNone({ ref }), to.receivesNone({ event: 'broadcast' })])
  },
)

privateChannel.case(
  'separate',
  'a public channel and a private one of the same name do not hear each other',
  async (t) => {
    const topic = `realtime:conformance-write-${t.unique('room')}`
    const [within, outside] = await Promise.all([
      joinPrivate(t, topic, await t.user(), { broadcast: { self: true } }),
      t.phoenix(),
    ])
    await outside.join(topic)
    within.push(topic, 'broadcast', message('shout', 'within'))
    outside.push(topic, 'broadcast', message('shout', 'outside'))
    await within.receives({ topic, event: 'broadcast', payload: message('shout', 'within') })
    await within.receivesNone({ event: 'broadcast' }, 200)
    await outside.receivesNone({ event: 'broadcast' }, 100)
  },
)

// Broadcast and presence have policies of their own.

const joinDiff = partly({ joins: { ada: { metas: [{ n: 1, phx_ref: some.string }] } } })

privateChannel.case(
  'presence',
  'who may write presence is seen by all who may read it',
  { source: `${docs}#allow-users-to-send-presence-messages-on-a-channel` },
  async (t) => {
    const topic = `realtime:conformance-write-${t.unique('room')}`
    const presence = { enabled: true, key: 'ada' }
    const phoenix = await joinPrivate(t, topic, await t.user(), { presence })
    phoenix.push(topic, 'presence', { type: 'presence', event: 'track', payload: { n: 1 } })
    await phoenix.receives({ topic, event: 'presence_diff', payload: joinDiff })
  },
)

privateChannel.case(
  'presence.denied',
  'who may send broadcasts alone cannot track',
  { source: `${docs}#allow-users-to-send-presence-messages-on-a-channel` },
  async (t) => {
    const topic = `realtime:conformance-say-${t.unique('room')}`
    const phoenix = await joinPrivate(t, topic, await t.user(), { presence: { enabled: true } })
    const ref = phoenix.push(topic, 'presence', {
      ...{ type: 'presence', event: 'track', payload: { n: 1 } },
    })
    const payload = { status: 'error', response: {} }
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload })
  },
)

privateChannel.case(
  'presence.unseen',
  'who may hear broadcasts alone is told nothing of presence',
  { source: `${docs}#allow-users-to-listen-to-presence-messages-on-a-channel` },
  async (t) => {
    const topic = `realtime:conformance-hear-${t.unique('room')}`
    const [service, user] = [await t.phoenix({ as: 'service' }), await t.user()]
    const phoenix = await joinPrivate(t, topic, user, { presence: { enabled: true } })
    await service.join(topic, { private: true, presence: { enabled: true, key: 'ada' } })
    service.push(topic, 'presence', { type: 'presence', event: 'track', payload: { n: 1 } })
    await service.receives({ topic, event: 'presence_diff', payload: joinDiff })
    await phoenix.receivesNone({ event: 'presence_state' }, 200)
    await phoenix.receivesNone({ event: 'presence_diff' }, 0)
  },
)

privateChannel.case(
  'presence.alone',
  'who may see presence alone joins, and hears no broadcasts',
  { source: `${docs}#allow-users-to-listen-to-presence-messages-on-a-channel` },
  async (t) => {
    const topic = `realtime:conformance-see-${t.unique('room')}`
    const [service, user] = [await t.phoenix({ as: 'service' }), await t.user()]
    const phoenix = await joinPrivate(t, topic, user, { presence: { enabled: true } })
    await service.join(topic, { private: true, presence: { enabled: true, key: 'ada' } })
    service.push(topic, 'broadcast', message('shout', 1))
    service.push(topic, 'presence', { type: 'presence', event: 'track', payload: { n: 1 } })
    await phoenix.receives({ topic, event: 'presence_diff', payload: joinDiff })
    await phoenix.receivesNone({ event: 'broadcast' }, 200)
  },
)

privateChannel.case(
  'trace',
  'asking for rights leaves no messages behind',
  { source: `${docs}#how-it-works` },
  async (t) => {
    const name = `conformance-write-${t.unique('room')}`
    const topic = `realtime:${name}`
    const phoenix = await joinPrivate(t, topic, await t.user(), { broadcast: { self: true } })
    phoenix.push(topic, 'broadcast', message('shout', 1))
    await phoenix.receives({ topic, event: 'broadcast', payload: message('shout', 1) })
    await t
      .post('/rest/v1/rpc/conformance_messages', { of_topic: name }, { as: 'service' })
      .is(200, 0)
  },
)

privateChannel.case(
  'client',
  'a stock client joins with its user’s session',
  { source: `${docs}#allow-a-user-to-join-and-read-a-broadcast-topic` },
  async (t) => {
    const user = await t.user()
    const [received, states]: [unknown[], string[]] = [[], []]
    await user.client.realtime.setAuth()
    const room = user.client
      .channel(`conformance-own-${user.id}`, { config: { private: true } })
      .on('broadcast', { event: 'shout' }, ({ payload }) => void received.push(payload))
      .subscribe((state) => void states.push(state))
    await t.eventually(() => states, ['SUBSCRIBED'])
    const wanted = { topic: room.subTopic, event: 'shout', payload: { n: 5 }, private: true }
    await t.prepare('POST', '/realtime/v1/api/broadcast', { messages: [wanted] })
    await t.eventually(() => received, [{ n: 5 }])
  },
)

privateChannel.case(
  'client.refused',
  'a stock client is told why it may not join',
  { source: `${protocol}#join-errors` },
  async (t) => {
    const name = t.unique('closed')
    const user = await t.user()
    const joinStates: unknown[] = []
    await user.client.realtime.setAuth()
    user.client.channel(name, { config: { private: true } }).subscribe((state, error) => {
      if (joinStates.length === 0) joinStates.push(state, error?.message)
    })
    await t.eventually(() => joinStates, ['CHANNEL_ERROR', refusal(name).response.reason])
  },
)
