import { group } from '../../case.ts'
import { partly } from '../../match.ts'
import { joinPrivate, message } from '../../realtime.ts'

const docs = 'https://supabase.com/docs/guides/realtime/broadcast#broadcast-using-the-rest-api'
const source = 'https://github.com/supabase/realtime/blob/main/lib'
const batch = `${source}/realtime/tenants/batch_broadcast.ex`

export const http = group('realtime.http', {
  title: 'Broadcasts over HTTP',
  source: docs,
})

http.case('batch', 'a message that is posted reaches the subscribers of its topic', async (t) => {
  const name = t.unique('room')
  const phoenix = await t.phoenix()
  await phoenix.join(`realtime:${name}`)
  const payload = { word: 'hello' }
  await t.post('api/broadcast', { messages: [{ topic: name, event: 'shout', payload }] }).empty(202)
  const received = { topic: `realtime:${name}`, event: 'broadcast' }
  await phoenix.receives({ ...received, payload: partly({ event: 'shout', payload }) })
})

http.case('several', 'several messages to several topics are posted at once', async (t) => {
  const [one, other] = [t.unique('one'), t.unique('other')]
  const phoenix = await t.phoenix({ vsn: '1.0.0' })
  await phoenix.join(`realtime:${one}`)
  await phoenix.join(`realtime:${other}`)
  const messages = [one, other].map((topic, n) => ({ topic, event: 'shout', payload: { n } }))
  await t.post('api/broadcast', { messages }).empty(202)
  for (const [n, name] of [one, other].entries()) {
    const received = { topic: `realtime:${name}`, event: 'broadcast' }
    await phoenix.receives({ ...received, payload: partly({ event: 'shout', payload: { n } }) })
  }
})

http.case(
  'key',
  'the key in the header apikey is enough',
  { source: `${source}/realtime_web/plugs/auth_tenant.ex` },
  (t) =>
    t
      .post(
        'api/broadcast',
        { messages: [{ topic: t.unique('room'), event: 'shout', payload: {} }] },
        { as: 'nobody', headers: { apikey: t.target.anonKey } },
      )
      .empty(202),
)

http.case(
  'wrong-token',
  'a token that nobody signed is refused',
  { source: `${source}/realtime_web/plugs/auth_tenant.ex` },
  (t) =>
    t
      .post(
        'api/broadcast',
        { messages: [{ topic: t.unique('room'), event: 'shout', payload: {} }] },
        { as: { token: 'nonsense' } },
      )
      .is(401, { message: 'Unauthorized' }),
)

http.case(
  'invalid.blank',
  'a message without a payload is refused, and which one it is said',
  { source: batch },
  (t) => {
    const topic = t.unique('room')
    const messages = [
      { topic, event: 'shout' },
      { topic, event: 'shout', payload: {} },
    ]
    return t
      .post('api/broadcast', { messages })
      .is(422, { errors: { messages: [{ payload: ["can't be blank"] }, {}] } })
  },
)

http.case('invalid.type', 'a payload that is no object is refused', { source: batch }, (t) =>
  t
    .post('api/broadcast', {
      messages: [{ topic: t.unique('room'), event: 'shout', payload: 'text' }],
    })
    .is(422, { errors: { messages: [{ payload: ['is invalid'] }] } }),
)

http.case('invalid.nothing', 'a body without messages is refused', { source: batch }, (t) =>
  t.post('api/broadcast', {}).is(422, { errors: { messages: ["can't be blank"] } }),
)

http.case(
  'invalid.all-or-nothing',
  'where one message is refused none is sent',
  { source: batch },
  async (t) => {
    const name = t.unique('room')
    const phoenix = await t.phoenix()
    await phoenix.join(`realtime:${name}`)
    const messages = [{ topic: name, event: 'shout', payload: { n: 1 } }, { topic: name }]
    await t.post('api/broadcast', { messages }).is(422)
    await phoenix.receivesNone({ event: 'broadcast' }, 300)
  },
)

http.case(
  'private',
  'a private message is heard in the private channel alone',
  { needs: ['sql', 'service'] },
  async (t) => {
    const name = `conformance-read-${t.unique('room')}`
    const topic = `realtime:${name}`
    const user = await t.user()
    const [within, outside] = await Promise.all([joinPrivate(t, topic, user), t.phoenix()])
    await outside.join(topic)
    const wanted = { topic: name, event: 'shout', payload: { n: 1 }, private: true }
    await t.post('api/broadcast', { messages: [wanted] }, { as: 'service' }).empty(202)
    const payload = partly({ event: 'shout', payload: { n: 1 } })
    await within.receives({ topic, event: 'broadcast', payload })
    await outside.receivesNone({ event: 'broadcast' }, 200)
  },
)

http.case(
  'private-denied',
  'a private message that the token may not send is dropped without a word',
  { source: batch, needs: ['sql', 'service'] },
  async (t) => {
    const name = `conformance-read-${t.unique('room')}`
    const user = await t.user()
    const phoenix = await joinPrivate(t, `realtime:${name}`, user)
    const messages = [{ topic: name, event: 'shout', payload: { n: 1 }, private: true }]
    await t.post('api/broadcast', { messages }, { as: user }).empty(202)
    await phoenix.receivesNone({ event: 'broadcast' }, 300)
  },
)

http.case(
  'limits',
  'a response says how many messages a second there may be',
  { source: `${source}/realtime_web/plugs/rate_limiter.ex` },
  (t) =>
    t
      .post('api/broadcast', {
        messages: [{ topic: t.unique('room'), event: 'shout', payload: {} }],
      })
      .empty(202)
      .header('x-rate-limit', /^\d+$/)
      .header('x-rate-rolling', /^\d+$/)
      .header('x-rate-limit-remaining', /^-?\d+$/),
)

http.case(
  'cors',
  'pages of any origin may post messages',
  { source: `${source}/realtime_web/router.ex` },
  async (t) => {
    const origin = 'https://page.example'
    const headers = {
      ...{ origin, 'access-control-request-method': 'POST' },
      'access-control-request-headers': 'authorization,apikey,content-type',
    }
    const response = await t.http('OPTIONS', 'api/broadcast', { as: 'nobody', headers })
    t.equal(response.status < 300, true)
    response.header('access-control-allow-origin', /^(\*|https:\/\/page\.example)$/)
  },
)

// One message, whose topic and event are in the path.

http.case(
  'single.json',
  'the body of a request to a topic’s event is the payload',
  { source: docs },
  async (t) => {
    const name = t.unique('room')
    const phoenix = await t.phoenix()
    await phoenix.join(`realtime:${name}`)
    await t.post(`api/broadcast/${name}/events/shout`, { word: 'hello' }).empty(202)
    // A binary frame has the user's event in the place of the protocol's.
    await phoenix.receives({
      topic: `realtime:${name}`,
      event: 'shout',
      payload: { word: 'hello' },
    })
  },
)

http.case(
  'single.version-1',
  'who speaks version 1.0.0 hears such a message as text',
  { source: docs },
  async (t) => {
    const topic = t.unique('room')
    const phoenix = await t.phoenix({ vsn: '1.0.0' })
    await phoenix.join(`realtime:${topic}`)
    await t.post(`api/broadcast/${topic}/events/shout`, { n: 1 }).empty(202)
    await phoenix.receives({
      ...{ topic: `realtime:${topic}`, event: 'broadcast' },
      payload: message('shout', { n: 1 }),
    })
  },
)

http.case('single.bytes', 'the payload may be bytes', { source: docs }, async (t) => {
  const name = t.unique('room')
  const phoenix = await t.phoenix()
  await phoenix.join(`realtime:${name}`)
  await t
    .post(`api/broadcast/${name}/events/bytes`, new Uint8Array([0, 254, 1]), {
      headers: { 'content-type': 'application/octet-stream' },
    })
    .empty(202)
  await phoenix.receives({ topic: `realtime:${name}`, event: 'bytes', payload: '00fe01' })
})

http.case(
  'single.encoded',
  'topic and event are percent-encoded in the path',
  { source: docs },
  async (t) => {
    const name = `${t.unique('room')}:1/2 ü`
    const phoenix = await t.phoenix()
    await phoenix.join(`realtime:${name}`)
    const path = `api/broadcast/${encodeURIComponent(name)}/events/${encodeURIComponent('größer/1')}`
    await t.post(path, { n: 1 }).empty(202)
    await phoenix.receives({ topic: `realtime:${name}`, event: 'größer/1', payload: { n: 1 } })
  },
)

http.case(
  'single.media-type',
  'any other content type is refused',
  { source: `${source}/realtime_web/plugs/validate_broadcast_content_type.ex` },
  (t) =>
    t
      .post(`api/broadcast/${t.unique('room')}/events/shout`, 'a: 1', {
        headers: { 'content-type': 'text/yaml' },
      })
      .is(415, {
        error: 'Unsupported Media Type. Use application/json or application/octet-stream',
      }),
)

http.case(
  'single.private-denied',
  'a private message that the token may not send is refused',
  { source: `${source}/realtime/tenants/single_broadcast.ex`, needs: ['sql', 'service'] },
  async (t) => {
    const user = await t.user()
    const path = `api/broadcast/conformance-read-${t.unique('room')}/events/shout?private=true`
    await t.post(path, { n: 1 }, { as: user }).is(403, { message: 'Unauthorized' })
  },
)

http.case(
  'single.private',
  'a private message that the token may send is heard',
  { source: docs, needs: ['sql', 'service'] },
  async (t) => {
    const name = `conformance-write-${t.unique('room')}`
    const user = await t.user()
    const phoenix = await joinPrivate(t, `realtime:${name}`, user)
    const path = `api/broadcast/${name}/events/shout?private=true`
    await t.post(path, { n: 7 }, { as: user }).empty(202)
    await phoenix.receives({ topic: `realtime:${name}`, event: 'shout', payload: { n: 7 } })
  },
)

http.case(
  'single.no-token',
  'a message without a valid token is refused',
  { source: `${source}/realtime_web/plugs/auth_tenant.ex` },
  (t) =>
    t
      .post(`api/broadcast/${t.unique('room')}/events/shout`, {}, { as: { token: 'nonsense' } })
      .is(401, { message: 'Unauthorized' }),
)

http.case(
  'client.send',
  'a stock client that has not joined sends over HTTP',
  {
    source: 'https://supabase.com/docs/guides/realtime/broadcast#send-messages-using-rest-calls',
  },
  async (t) => {
    const name = t.unique('room')
    const phoenix = await t.phoenix()
    await phoenix.join(`realtime:${name}`)
    const payload = { word: 'hello' }
    const sent = await t.anon.channel(name).send({ type: 'broadcast', event: 'shout', payload })
    t.equal(sent, 'ok')
    t.response().empty(202)
    await phoenix.receives({ event: 'broadcast', payload: partly({ event: 'shout', payload }) })
  },
)

http.case(
  'client.http-send',
  'httpSend of a stock client ends with success',
  {
    source: 'https://supabase.com/docs/guides/realtime/broadcast#send-messages-using-rest-calls',
  },
  async (t) => {
    const name = t.unique('room')
    const phoenix = await t.phoenix()
    await phoenix.join(`realtime:${name}`)
    const sent = await t.anon.channel(name).httpSend('shout', { word: 'hello' })
    t.equal(sent, { success: true })
    t.response().empty(202)
    await phoenix.receives({ event: 'shout', payload: { word: 'hello' } })
  },
)
