import { group } from '../../case.ts'
import { partly } from '../../match.ts'
import { message } from '../../realtime.ts'

const protocol = 'https://supabase.com/docs/guides/realtime/protocol'
const source = 'https://github.com/supabase/realtime/blob/main/lib/realtime_web/channels'
const reference = 'https://supabase.com/docs/reference/javascript'

export const channel = group('realtime.channel', {
  title: 'Joining and leaving channels',
  source: protocol,
})

const joined = { status: 'ok', response: { postgres_changes: [] } }

channel.case(
  'join',
  'the reply to a join has its reference and the list of subscriptions',
  { source: `${protocol}#phx_join` },
  async (t) => {
    const phoenix = await t.phoenix({ vsn: '1.0.0' })
    const topic = `realtime:${t.unique('room')}`
    const ref = phoenix.push(topic, 'phx_join', { config: {} })
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload: joined })
  },
)

channel.case(
  'leave',
  'a leave gets a reply, and the channel is closed with the reference of its join',
  { source: `${protocol}#phx_leave` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    const join = await phoenix.join(topic)
    const ref = phoenix.push(topic, 'phx_leave', {}, join)
    await phoenix.receives({
      topic,
      event: 'phx_reply',
      ref,
      payload: { status: 'ok', response: {} },
    })
    await phoenix.receives({ topic, event: 'phx_close', ref: join, payload: {} })
  },
)

channel.case('left', 'a channel that was left hears nothing more', async (t) => {
  const topic = `realtime:${t.unique('room')}`
  const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
  await Promise.all([from.join(topic), to.join(topic)])
  const ref = to.push(topic, 'phx_leave')
  await to.receives({ topic, event: 'phx_reply', ref, payload: { status: 'ok', response: {} } })
  from.push(topic, 'broadcast', message('shout', 1))
  await to.receivesNone({ event: 'broadcast' })
})

channel.case(
  'rejoin',
  'a second join of a topic takes the place of the first, which is closed',
  { source: `${protocol}#phx_close` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    const first = await phoenix.join(topic)
    const second = phoenix.push(topic, 'phx_join', { config: {} }, 'second')
    await phoenix.receives({ topic, event: 'phx_close', ref: first, payload: {} })
    await phoenix.receives({ topic, event: 'phx_reply', ref: second, payload: joined })
  },
)

channel.case(
  'join-again',
  'a channel that was left can be joined again',
  { source: `${protocol}#phx_join` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    const join = await phoenix.join(topic)
    phoenix.push(topic, 'phx_leave', {}, join)
    await phoenix.receives({ topic, event: 'phx_close', ref: join, payload: {} })
    await phoenix.join(topic)
  },
)

const unmatched = { status: 'error', response: { reason: 'unmatched topic' } }

channel.case(
  'unjoined',
  'a message to a channel that was not joined is refused',
  { source: `${source}/user_socket.ex` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    const ref = phoenix.push(topic, 'broadcast', message('shout', 1))
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload: unmatched })
  },
)

channel.case(
  'prefix',
  'a topic without the prefix realtime: is none',
  { source: `${source}/user_socket.ex` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = t.unique('room')
    const ref = phoenix.push(topic, 'phx_join', { config: {} })
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload: unmatched })
  },
)

channel.case(
  'no-name',
  'a channel needs a name',
  { source: `${protocol}#join-errors` },
  async (t) => {
    const phoenix = await t.phoenix()
    const ref = phoenix.push('realtime:', 'phx_join', { config: {} })
    const reason = 'TopicNameRequired: You must provide a topic name'
    await phoenix.receives({ ref, payload: { status: 'error', response: { reason } } })
  },
)

channel.case(
  'colons',
  'the name of a channel may be any text',
  { source: 'https://supabase.com/docs/guides/realtime/concepts#channels' },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}:42:Größe, 部屋 & more`
    const ref = phoenix.push(topic, 'phx_join', { config: {} })
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload: joined })
  },
)

channel.case('many', 'channels of one connection do not hear each other', async (t) => {
  const phoenix = await t.phoenix()
  const [one, other] = [`realtime:${t.unique('one')}`, `realtime:${t.unique('other')}`]
  const config = { broadcast: { self: true } }
  await phoenix.join(one, config)
  await phoenix.join(other, config)
  phoenix.push(one, 'broadcast', message('shout', 1))
  await phoenix.receives({ topic: one, event: 'broadcast', payload: message('shout', 1) })
  await phoenix.receivesNone({ topic: other, event: 'broadcast' })
})

channel.case(
  'unknown-event',
  'an event that the server does not know gets no reply, and the channel goes on',
  { source: `${source}/realtime_channel.ex` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    await phoenix.join(topic, { broadcast: { ack: true } })
    const unknown = phoenix.push(topic, 'conformance', {})
    const ref = phoenix.push(topic, 'broadcast', message('shout', 1))
    await phoenix.receives({
      topic,
      event: 'phx_reply',
      ref,
      payload: { status: 'ok', response: {} },
    })
    await phoenix.receivesNone({ ref: unknown })
  },
)

channel.case(
  'text-booleans',
  'options of a join may be the texts true and false',
  { source: `${source}/payloads/flexible_boolean.ex` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    await phoenix.join(topic, { broadcast: { self: 'True', ack: 'false' } })
    phoenix.push(topic, 'broadcast', message('shout', 1))
    await phoenix.receives({ topic, event: 'broadcast', payload: message('shout', 1) })
  },
)

channel.case(
  'no-config',
  'a join without options gets a reply',
  { source: `${source}/realtime_channel.ex` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    const ref = phoenix.push(topic, 'phx_join', {})
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload: partly({ status: 'ok' }) })
  },
)

channel.case(
  'replication-ready',
  'a channel is told when broadcasts of the database reach it, if it asks for that',
  { source: `${source}/realtime_channel.ex` },
  async (t) => {
    const phoenix = await t.phoenix()
    const name = t.unique('room')
    await phoenix.join(`realtime:${name}`, { broadcast: { replication_ready: true } })
    await phoenix.receives(
      {
        event: 'system',
        payload: {
          ...{ extension: 'system', status: 'ok', channel: name },
          message: 'Replication connection established',
        },
      },
      20_000,
    )
  },
)

channel.case(
  'client.states',
  'a stock client is subscribed, and closed when it has unsubscribed',
  { source: `${reference}/subscribe` },
  async (t) => {
    const states: string[] = []
    const room = t.anon.channel(t.unique('room')).subscribe((state) => void states.push(state))
    await t.eventually(() => states, ['SUBSCRIBED'])
    const left = await room.unsubscribe()
    await t.eventually(() => [left, ...states], ['ok', 'SUBSCRIBED', 'CLOSED'])
  },
)
