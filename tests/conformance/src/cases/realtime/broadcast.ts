import { group } from '../../case.ts'
import { partly } from '../../match.ts'
import { message, pushFrame } from '../../realtime.ts'

const docs = 'https://supabase.com/docs/guides/realtime/broadcast'
const protocol = 'https://supabase.com/docs/guides/realtime/protocol'

export const broadcast = group('realtime.broadcast', {
  title: 'Broadcasts',
  source: docs,
})

broadcast.case('others', 'a message reaches the other subscribers of a channel', async (t) => {
  const topic = `realtime:${t.unique('room')}`
  const [from, to] = await Promise.all([t.phoenix({ vsn: '1.0.0' }), t.phoenix({ vsn: '1.0.0' })])
  await Promise.all([from.join(topic), to.join(topic)])
  const payload = { type: 'broadcast', event: 'shout', payload: { word: 'hello' } }
  from.push(topic, 'broadcast', payload)
  await to.receives({ topic, event: 'broadcast', payload })
})

broadcast.case('client', 'a stock client hears what another one sends', async (t) => {
  const name = t.unique('room')
  const received: unknown[] = []
  const states: string[] = []
  const [from, to] = [t.client(t.target.anonKey), t.client(t.target.anonKey)]
  to.channel(name)
    .on('broadcast', { event: 'shout' }, ({ payload }) => void received.push(payload))
    .subscribe((state) => void states.push(state))
  const sender = from.channel(name).subscribe((state) => void states.push(state))
  await t.eventually(() => states, ['SUBSCRIBED', 'SUBSCRIBED'])
  await sender.send({ type: 'broadcast', event: 'shout', payload: { word: 'hello' } })
  await t.eventually(() => received, [{ word: 'hello' }])
})

broadcast.case('self', 'config.broadcast.self sends messages back to their sender', async (t) => {
  const topic = `realtime:${t.unique('room')}`
  const socket = await t.phoenix()
  await socket.join(topic, { broadcast: { self: true } })
  const payload = { type: 'broadcast', event: 'shout', payload: 1 }
  socket.push(topic, 'broadcast', payload)
  await socket.receives({ topic, event: 'broadcast', payload })
})

broadcast.case(
  'not-self',
  'by default a message does not come back to its sender',
  { source: `${docs}#self-send-messages` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
    await Promise.all([from.join(topic), to.join(topic)])
    from.push(topic, 'broadcast', message('shout', 1))
    await to.receives({ topic, event: 'broadcast', payload: message('shout', 1) })
    await from.receivesNone({ event: 'broadcast' }, 200)
  },
)

broadcast.case(
  'ack',
  'config.broadcast.ack has messages acknowledged',
  { source: `${docs}#acknowledge-messages` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { broadcast: { ack: true } })
    const ref = phoenix.push(topic, 'broadcast', message('shout', 1))
    await phoenix.receives({
      topic,
      event: 'phx_reply',
      ref,
      payload: { status: 'ok', response: {} },
    })
  },
)

broadcast.case(
  'no-ack',
  'by default a message is not acknowledged',
  { source: `${docs}#acknowledge-messages` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { broadcast: { self: true } })
    const ref = phoenix.push(topic, 'broadcast', message('shout', 1))
    await phoenix.receives({ topic, event: 'broadcast', payload: message('shout', 1) })
    await phoenix.receivesNone({ event: 'phx_reply', ref }, 200)
  },
)

broadcast.case(
  'client-ack',
  'with ack, a stock client’s send ends when the server has the message',
  { source: `${docs}#acknowledge-messages` },
  async (t) => {
    const states: string[] = []
    const room = t.anon
      .channel(t.unique('room'), { config: { broadcast: { ack: true } } })
      .subscribe((state) => void states.push(state))
    await t.eventually(() => states, ['SUBSCRIBED'])
    const sent = await room.send({ type: 'broadcast', event: 'shout', payload: { n: 1 } })
    await t.eventually(() => [sent], ['ok'])
  },
)

const payloads: Record<string, unknown> = {
  object: { deep: { list: [1, 'two', null, false], empty: {} } },
  array: [1, { two: 2 }],
  text: 'Größe 部屋 🙂',
  number: 1.5,
  boolean: true,
}
for (const [name, payload] of Object.entries(payloads)) {
  broadcast.case(
    `payload.${name}`,
    'the payload may be any JSON value',
    { source: `${protocol}#broadcast-text-frame` },
    async (t) => {
      const topic = `realtime:${t.unique('room')}`
      const phoenix = await t.phoenix()
      await phoenix.join(topic, { broadcast: { self: true } })
      phoenix.push(topic, 'broadcast', message('shout', payload))
      await phoenix.receives({ topic, event: 'broadcast', payload: message('shout', payload) })
    },
  )
}

const wordOf = (payload: unknown) => String((payload as { word: unknown }).word)

broadcast.case(
  'event',
  'a stock client hears the events that it asked for, and all with *',
  { source: `${docs}#receiving-broadcast-messages` },
  async (t) => {
    const [some, all, states]: string[][] = [[], [], []]
    const room = t.anon
      .channel(t.unique('room'), { config: { broadcast: { self: true } } })
      .on('broadcast', { event: 'second' }, ({ payload }) => void some?.push(wordOf(payload)))
      .on('broadcast', { event: '*' }, ({ payload }) => void all?.push(wordOf(payload)))
      .subscribe((state) => void states?.push(state))
    await t.eventually(() => states, ['SUBSCRIBED'])
    await room.send({ type: 'broadcast', event: 'first', payload: { word: 'one' } })
    await room.send({ type: 'broadcast', event: 'second', payload: { word: 'two' } })
    await t.eventually(() => [all, some], [['one', 'two'], ['two']])
  },
)

broadcast.case(
  'name',
  'only subscribers of a channel of the same name hear a message',
  async (t) => {
    const [here, there] = [`realtime:${t.unique('here')}`, `realtime:${t.unique('there')}`]
    const [from, to, other] = await Promise.all([t.phoenix(), t.phoenix(), t.phoenix()])
    await Promise.all([from.join(here), to.join(here), other.join(there)])
    from.push(here, 'broadcast', message('shout', 1))
    await to.receives({ topic: here, event: 'broadcast', payload: message('shout', 1) })
    await other.receivesNone({ event: 'broadcast' }, 200)
  },
)

broadcast.case(
  'size',
  'a message that is larger than any plan allows is refused where it is acknowledged',
  { source: `${protocol}#broadcast-errors` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
    await Promise.all([from.join(topic, { broadcast: { ack: true } }), to.join(topic)])
    const ref = from.push(topic, 'broadcast', message('shout', 'x'.repeat(3_200_000)))
    await from.receives({ topic, event: 'phx_reply', ref, payload: partly({ status: 'error' }) })
    await to.receivesNone({ event: 'broadcast' }, 200)
  },
)

// Binary frames.

const binary = `${protocol}#user-broadcast`

broadcast.case(
  'binary.json',
  'JSON of a binary frame comes in a binary frame',
  { source: binary },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
    await Promise.all([from.join(topic), to.join(topic)])
    const payload = { word: 'Größe', n: [1, 2] }
    from.socket.send(pushFrame({ ref: '9', topic, event: 'größer', payload }))
    // Frames of kind 4 have the user's event in the place of the protocol's.
    await to.receives({ topic, event: 'größer', payload })
  },
)

broadcast.case(
  'binary.bytes',
  'bytes of a binary frame come as they are',
  { source: binary },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
    await Promise.all([from.join(topic), to.join(topic)])
    const payload = new Uint8Array([0, 255, 10, 200])
    from.socket.send(pushFrame({ ref: '9', topic, event: 'bytes', payload }))
    await to.receives({ topic, event: 'bytes', payload: '00ff0ac8' })
  },
)

broadcast.case(
  'binary.ack',
  'a binary frame is acknowledged in a text frame',
  { source: `${protocol}#broadcast-binary-frame` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { broadcast: { ack: true } })
    phoenix.socket.send(pushFrame({ ref: '77', topic, event: 'shout', payload: {} }))
    const payload = { status: 'ok', response: {} }
    await phoenix.receives({ topic, event: 'phx_reply', ref: '77', payload })
  },
)

broadcast.case(
  'binary.self',
  'config.broadcast.self sends binary frames back, too',
  { source: `${docs}#self-send-messages` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const phoenix = await t.phoenix()
    await phoenix.join(topic, { broadcast: { self: true } })
    phoenix.socket.send(pushFrame({ ref: '2', topic, event: 'shout', payload: { n: 5 } }))
    await phoenix.receives({ topic, event: 'shout', payload: { n: 5 } })
  },
)

broadcast.case(
  'binary.metadata',
  'metadata that a client sends are no part of the payload',
  { source: `${protocol}#user-broadcast-push` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix(), t.phoenix()])
    await Promise.all([from.join(topic), to.join(topic)])
    const metadata = JSON.stringify({ own: 'value' })
    from.socket.send(pushFrame({ ref: '2', topic, event: 'shout', payload: { n: 5 }, metadata }))
    await to.receives({ topic, event: 'shout', payload: { n: 5 } })
  },
)

broadcast.case(
  'binary.to-version-1',
  'JSON of a binary frame comes as text to those who speak version 1.0.0',
  { source: `${protocol}#broadcast-text-frame-1` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix(), t.phoenix({ vsn: '1.0.0' })])
    await Promise.all([from.join(topic), to.join(topic)])
    from.socket.send(pushFrame({ ref: '2', topic, event: 'shout', payload: { n: 5 } }))
    await to.receives({ topic, event: 'broadcast', payload: message('shout', { n: 5 }) })
  },
)

broadcast.case(
  'binary.from-version-1',
  'text of version 1.0.0 comes as text to those who speak version 2.0.0',
  { source: `${protocol}#broadcast-text-frame-1` },
  async (t) => {
    const topic = `realtime:${t.unique('room')}`
    const [from, to] = await Promise.all([t.phoenix({ vsn: '1.0.0' }), t.phoenix()])
    await Promise.all([from.join(topic), to.join(topic)])
    from.push(topic, 'broadcast', message('shout', { n: 5 }))
    const payload = message('shout', { n: 5 })
    await to.receives({ join_ref: null, ref: null, topic, event: 'broadcast', payload })
  },
)

broadcast.case(
  'binary.client',
  'a stock client sends bytes, and another one hears them',
  { source: `${docs}#broadcast-using-the-client-libraries` },
  async (t) => {
    const name = t.unique('room')
    const [received, states]: [string[], string[]] = [[], []]
    const [from, to] = [t.client(t.target.anonKey), t.client(t.target.anonKey)]
    to.channel(name)
      .on('broadcast', { event: 'bytes' }, ({ payload }) => {
        received.push(Buffer.from(payload as unknown as ArrayBuffer).toString('hex'))
      })
      .subscribe((state) => void states.push(state))
    const sender = from.channel(name).subscribe((state) => void states.push(state))
    await t.eventually(() => states, ['SUBSCRIBED', 'SUBSCRIBED'])
    const payload = new Uint8Array([1, 2, 0, 255]).buffer
    await sender.send({ type: 'broadcast', event: 'bytes', payload })
    await t.eventually(() => received, ['010200ff'])
  },
)
