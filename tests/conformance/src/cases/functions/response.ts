import { group } from '../../case.ts'

const guides = 'https://supabase.com/docs/guides/functions'
const codes = `${guides}/error-codes`

export const response = group('functions.response', {
  title: 'Responses of functions',
  source: `${guides}/status-codes`,
  needs: ['functions'],
})

for (const status of [201, 204, 400, 403, 404, 409, 429]) {
  response.case(`status.${status}`, 'the status of a function is the response’s', (t) => {
    const body = status === 204 ? null : `status ${status}`
    const call = t.post('conformance-response', { status, body })
    return status === 204 ? call.empty(204) : call.text(status, body ?? '')
  })
}

response.case(
  'redirect',
  'a redirect of a function is the response, and is not followed',
  { source: `${guides}/status-codes#3xx-redirect` },
  async (t) => {
    const to = 'https://elsewhere.example/path?a=b'
    await t
      .get(`conformance-runtime/redirect?to=${encodeURIComponent(to)}`)
      .is(303)
      .header('location', /^https:\/\/elsewhere\.example\/path\?a=b$/)
  },
)

response.case('bytes', 'a response of bytes is handed on as it is', (t) =>
  t
    .post('conformance-response', {
      headers: { 'content-type': 'image/png' },
      hex: '89504e470d0a1a0a',
    })
    .bytes(200, new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
    .header('content-type', 'image/png'),
)

response.case('large', 'a response of megabytes is handed on in full', (t) =>
  t.post('conformance-response', { size: 3_000_000 }).text(200, /^x{3000000}$/),
)

response.case(
  'stream',
  'a response that comes in parts is handed on in full',
  { source: `${guides}/examples/elevenlabs-generate-speech-stream` },
  (t) => t.get('conformance-runtime/stream').text(200, 'one two three'),
)

response.case(
  'events',
  'server-sent events have their content type',
  { source: `${guides}/examples/elevenlabs-generate-speech-stream` },
  (t) =>
    t
      .get('conformance-runtime/events')
      .text(200, 'data: one\n\nevent: end\ndata: two\n\n')
      .header('content-type', /^text\/event-stream/),
)

response.case('cookies', 'a header that is there twice is handed on twice', (t) =>
  t
    .get('conformance-runtime/cookies')
    .text(200, 'cookies')
    .header('set-cookie', 'one=1; Path=/, two=2; Path=/'),
)

response.case(
  'preflight',
  'a function responds to preflights itself, for which no token is needed',
  { source: `${guides}/cors` },
  (t) =>
    t
      .http('OPTIONS', 'conformance-response', {
        as: 'nobody',
        headers: {
          ...{ origin: 'https://page.example', 'access-control-request-method': 'POST' },
          'access-control-request-headers': 'authorization,x-own',
        },
      })
      .text(200, 'ok')
      .header('access-control-allow-origin', '*')
      .header('access-control-allow-headers', /\bx-own\b/),
)

response.case(
  'cors',
  'headers for pages of other origins are the function’s',
  { source: `${guides}/cors` },
  (t) =>
    t
      .post(
        'conformance-response',
        { headers: { 'access-control-allow-origin': 'https://page.example' }, body: 'ok' },
        { headers: { origin: 'https://page.example' } },
      )
      .text(200, 'ok')
      .header('access-control-allow-origin', 'https://page.example'),
)

// Errors.

response.case(
  'missing',
  'a function that is not there gets the code NOT_FOUND',
  { source: `${codes}#not_found` },
  (t) => t.get('conformance-not-there').is(404).header('sb-error-code', 'NOT_FOUND'),
)

for (const [name, path] of [
  ['throws', 'throws'],
  ['rejects', 'rejects'],
] as const) {
  response.case(
    `error.${name}`,
    'an error that a function does not catch gets 500',
    { source: `${codes}#edge_function_error` },
    (t) =>
      t.get(`conformance-runtime/${path}`).is(500).header('sb-error-code', 'EDGE_FUNCTION_ERROR'),
  )
}

response.case(
  'error.own',
  'an error of the server that a function responds with is marked as its own',
  { source: `${codes}#edge_function_error` },
  (t) =>
    t
      .post('conformance-response', { status: 503, body: 'later' })
      .text(503, 'later')
      .header('sb-error-code', 'EDGE_FUNCTION_ERROR'),
)

response.case(
  'error.after',
  'after an error a function goes on to respond',
  { source: `${codes}#edge_function_error` },
  async (t) => {
    await t.get('conformance-runtime/throws').is(500)
    await t
      .http('POST', 'conformance-runtime/slow', { body: 'still there' })
      .text(200, 'still there')
  },
)
