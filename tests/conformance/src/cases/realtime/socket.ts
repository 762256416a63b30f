import { group } from '../../case.ts'

const protocol = 'https://supabase.com/docs/guides/realtime/protocol'
const source = 'https://github.com/supabase/realtime/blob/main/lib/realtime_web'
const userSocket = `${source}/channels/user_socket.ex`
const path = '/realtime/v1/websocket'

export const socket = group('realtime.socket', {
  title: 'The connection',
  source: protocol,
})

socket.case('heartbeat', 'a heartbeat gets a reply', async (t) => {
  const phoenix = await t.phoenix()
  const ref = phoenix.push('phoenix', 'heartbeat')
  await phoenix.receives({
    topic: 'phoenix',
    event: 'phx_reply',
    ref,
    payload: { status: 'ok', response: {} },
  })
})

socket.case(
  'version-1',
  'without a version the protocol is 1.0.0, whose messages are objects',
  { source: `${protocol}#websocket-connection-setup` },
  async (t) => {
    const opened = await t.socket(`${path}?apikey=${t.target.anonKey}`)
    opened.send({ topic: 'phoenix', event: 'heartbeat', payload: {}, ref: 'one' })
    await opened.receives({
      topic: 'phoenix',
      event: 'phx_reply',
      ref: 'one',
      payload: { status: 'ok', response: {} },
    })
  },
)

socket.case(
  'version-2',
  'messages of version 2.0.0 are arrays, and replies have the reference of the join',
  { source: `${protocol}#text-frames` },
  async (t) => {
    const phoenix = await t.phoenix({ vsn: '2.0.0' })
    const topic = `realtime:${t.unique('room')}`
    const ref = phoenix.push(topic, 'phx_join', { config: {} }, 'seven')
    await phoenix.receives({
      join_ref: 'seven',
      ref,
      topic,
      event: 'phx_reply',
      payload: { status: 'ok', response: { postgres_changes: [] } },
    })
  },
)

socket.case(
  'version-unknown',
  'a version that is not there is refused',
  { source: `${protocol}#websocket-connection-setup` },
  async (t) => {
    const response = await t.handshake(`${path}?apikey=${t.target.anonKey}&vsn=9.0.0`)
    // Which status a refusal has is not said.
    const isRefused = response.status >= 400 && response.status < 500
    t.ok({ error: isRefused ? null : response.status })
  },
)

socket.case('no-key', 'a connection without a key is refused', { source: userSocket }, (t) =>
  t.handshake(`${path}?vsn=2.0.0`).is(401, { error: 'API key is missing' }),
)

socket.case('malformed-key', 'a key that is no token is refused', { source: userSocket }, (t) =>
  t
    .handshake(`${path}?apikey=nonsense&vsn=2.0.0`)
    .is(401, { error: 'The token provided is not a valid JWT' }),
)

socket.case(
  'wrong-signature',
  'a token that somebody else signed is refused',
  { source: userSocket, needs: ['jwt'] },
  (t) => {
    const [head, body] = t.sign({ role: 'anon', exp: soon() }).split('.')
    return t
      .handshake(`${path}?apikey=${head}.${body}.${'A'.repeat(43)}&vsn=2.0.0`)
      .is(401, { error: 'Failed to validate JWT signature' })
  },
)

socket.case(
  'expired-key',
  'a token that has expired is refused',
  { source: userSocket, needs: ['jwt'] },
  (t) =>
    t
      .handshake(`${path}?apikey=${t.sign({ role: 'anon', exp: soon() - 7200 })}&vsn=2.0.0`)
      .is(401, { error: 'Token has expired' }),
)

const incomplete: Record<string, object> = {
  'no-role': { exp: soon() },
  'no-expiry': { role: 'anon' },
}
for (const [name, claims] of Object.entries(incomplete)) {
  socket.case(
    name,
    'a token needs the claims role and exp',
    { source: userSocket, needs: ['jwt'] },
    (t) =>
      t
        .handshake(`${path}?apikey=${t.sign({ ...claims })}&vsn=2.0.0`)
        .is(401, { error: 'Fields `role` and `exp` are required in JWT' }),
  )
}

socket.case(
  'key-header',
  'the key may be in the header x-api-key, which counts before the query',
  { source: userSocket },
  async (t) => {
    const opened = await t.socket(`${path}?apikey=nonsense&vsn=1.0.0`, {
      'x-api-key': t.target.anonKey,
    })
    opened.send({ topic: 'phoenix', event: 'heartbeat', payload: {}, ref: '1' })
    await opened.receives({ topic: 'phoenix', ref: '1', payload: { status: 'ok', response: {} } })
  },
)

socket.case(
  'parameters',
  'a log level and parameters of the application are no reason to refuse',
  { source: `${protocol}#websocket-connection-setup` },
  async (t) => {
    const query = `apikey=${t.target.anonKey}&vsn=1.0.0&log_level=info&own=parameter`
    const opened = await t.socket(`${path}?${query}`)
    opened.send({ topic: 'phoenix', event: 'heartbeat', payload: {}, ref: '1' })
    await opened.receives({ topic: 'phoenix', ref: '1', payload: { status: 'ok', response: {} } })
  },
)

const malformed: Record<string, string | Uint8Array<ArrayBuffer>> = {
  text: 'not JSON',
  shape: '{"topic":"phoenix"}',
  binary: new Uint8Array([3, 9, 9, 9]),
}
for (const [name, frame] of Object.entries(malformed)) {
  socket.case(
    `malformed.${name}`,
    'a message that cannot be read does not end the connection',
    { source: `${source}/socket.ex` },
    async (t) => {
      const phoenix = await t.phoenix()
      phoenix.socket.send(frame)
      const ref = phoenix.push('phoenix', 'heartbeat')
      await phoenix.receives({ topic: 'phoenix', ref, payload: { status: 'ok', response: {} } })
    },
  )
}

socket.case(
  'frame-limit',
  'a message of more than 5,000,000 bytes ends the connection with the code 1009',
  { source: `${source}/endpoint.ex` },
  async (t) => {
    const phoenix = await t.phoenix()
    const ref = phoenix.push('phoenix', 'heartbeat')
    await phoenix.receives({ topic: 'phoenix', ref, payload: { status: 'ok', response: {} } })
    phoenix.socket.send('x'.repeat(5_000_001))
    await phoenix.socket.isClosed(1009)
  },
)

socket.case('ping', 'the service says that it is there', { source: `${source}/router.ex` }, (t) =>
  t.get('api/ping').is(200, { message: 'Success' }),
)

/** Returns a point in time in an hour, in seconds. */
function soon(): number {
  return Math.floor(Date.now() / 1000) + 3600
}
