import { group } from '../../case.ts'
import { partly } from '../../match.ts'

const reference = 'https://supabase.com/docs/reference/javascript/functions-invoke'
const guides = 'https://supabase.com/docs/guides/functions'
const client =
  'https://github.com/supabase/supabase-js/blob/master/packages/core/functions-js/src/FunctionsClient.ts'

export const invoke = group('functions.invoke', {
  title: 'Calls of functions',
  source: reference,
  needs: ['functions'],
})

invoke.case('json', 'an object is sent as JSON, and a JSON response is an object', async (t) => {
  const result = await t.anon.functions.invoke<unknown>('conformance-echo', {
    body: { word: 'hello' },
  })
  t.data(result, partly({ method: 'POST', body: '{"word":"hello"}', type: 'application/json' }))
})

invoke.case('method', 'a function is called with the method of the request', (t) =>
  t
    .delete('conformance-echo/things/1?a=b')
    .has(200, { method: 'DELETE', path: '/conformance-echo/things/1', query: '?a=b' }),
)

invoke.case('status', 'the status and the headers of a function are the response’s', (t) =>
  t
    .post('conformance-response', {
      status: 418,
      headers: { 'x-tea': 'yes' },
      body: 'short and stout',
    })
    .text(418, 'short and stout')
    .header('x-tea', 'yes'),
)

invoke.case('missing', 'a function that is not there is not found', (t) =>
  t.get('conformance-not-there').is(404),
)

invoke.case(
  'no-key',
  'a call without a token is refused',
  { source: 'https://supabase.com/docs/guides/functions/auth' },
  (t) => t.get('conformance-echo', { as: 'nobody' }).is(401),
)

// Bodies.

invoke.case('text', 'a text is sent as plain text', async (t) => {
  const result = await t.anon.functions.invoke<unknown>('conformance-echo', { body: 'Größe 部屋' })
  t.data(result, partly({ body: 'Größe 部屋', type: /^text\/plain/ }))
})

const bytes = new Uint8Array([0, 1, 254, 255])
const binaries: Record<string, Blob | ArrayBuffer> = {
  blob: new Blob([bytes]),
  'array-buffer': bytes.buffer,
}
for (const [name, body] of Object.entries(binaries)) {
  invoke.case(name, 'bytes are sent as they are', async (t) => {
    const result = await t.anon.functions.invoke<unknown>('conformance-echo', { body })
    t.data(result, partly({ hex: '0001feff', type: 'application/octet-stream' }))
  })
}

invoke.case('form', 'a form is sent with its fields and files', async (t) => {
  const body = new FormData()
  body.append('word', 'hello')
  body.append('file', new Blob(['in a file'], { type: 'text/plain' }), 'note.txt')
  const result = await t.anon.functions.invoke<unknown>('conformance-echo', { body })
  const file = { name: 'note.txt', type: /^text\/plain/, text: 'in a file' }
  t.data(result, partly({ form: { word: 'hello', file } }))
})

invoke.case('form.urlencoded', 'a form of a page is sent as it is', (t) =>
  t.http('POST', 'conformance-echo', { body: new URLSearchParams({ a: '1 2', b: 'ü' }) }).has(200, {
    body: 'a=1+2&b=%C3%BC',
    type: /^application\/x-www-form-urlencoded/,
  }),
)

invoke.case('empty', 'a function may be called without a body', async (t) => {
  const result = await t.anon.functions.invoke<unknown>('conformance-echo')
  t.data(result, partly({ method: 'POST', body: '', size: 0 }))
})

invoke.case('content-type', 'an own content type is kept', async (t) => {
  const result = await t.anon.functions.invoke<unknown>('conformance-echo', {
    body: '<a/>',
    headers: { 'Content-Type': 'application/xml' },
  })
  t.data(result, partly({ body: '<a/>', type: 'application/xml' }))
})

invoke.case('large', 'a body of megabytes reaches the function', (t) =>
  t.http('POST', 'conformance-echo', { body: 'x'.repeat(2_000_000) }).has(200, { size: 2_000_000 }),
)

// Methods, headers, paths.

for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const) {
  invoke.case(
    `method.${method.toLowerCase()}`,
    'a stock client calls with the method that it is told',
    async (t) => {
      const body = method === 'GET' ? {} : { body: { n: 1 } }
      const result = await t.anon.functions.invoke<unknown>('conformance-echo', { method, ...body })
      t.data(result, partly({ method, body: method === 'GET' ? '' : '{"n":1}' }))
    },
  )
}

invoke.case(
  'method.unsupported',
  'a method that functions do not support is refused',
  { source: `${guides}/status-codes#405-method-not-allowed` },
  (t) => t.http('PROPFIND', 'conformance-echo').is(405),
)

invoke.case('headers', 'own headers reach the function', async (t) => {
  const result = await t.anon.functions.invoke<unknown>('conformance-echo', {
    headers: { 'X-Own': 'value, and more' },
  })
  t.data(result, partly({ headers: partly({ 'x-own': 'value, and more' }) }))
})

invoke.case(
  'headers.user',
  'the token of the user reaches the function',
  {
    source: `${guides}/auth`,
    needs: ['service'],
  },
  async (t) => {
    const user = await t.user()
    const result = await user.client.functions.invoke<unknown>('conformance-echo')
    t.data(result, partly({ headers: partly({ authorization: `Bearer ${user.token}` }) }))
  },
)

invoke.case(
  'path',
  'the path behind the name of a function reaches it, after its name',
  { source: `${guides}/routing` },
  (t) =>
    t
      .get('conformance-echo/tasks/a%20b/notes/%C3%BC?')
      .has(200, { path: '/conformance-echo/tasks/a%20b/notes/%C3%BC' }),
)

invoke.case(
  'query',
  'the query of a call reaches the function as it is',
  { source: `${guides}/routing` },
  (t) =>
    t.get('conformance-echo?a=1&a=2&b=x%26y&empty=').has(200, { query: '?a=1&a=2&b=x%26y&empty=' }),
)

invoke.case(
  'region',
  'a function is called in a region',
  { source: `${guides}/regional-invocation#using-the-client-library` },
  async (t) => {
    const region = 'us-east-1' as never
    const result = await t.anon.functions.invoke<unknown>('conformance-echo', {
      ...{ region, body: { n: 1 } },
    })
    t.data(result, partly({ body: '{"n":1}', path: '/conformance-echo' }))
  },
)

invoke.case(
  'at-once',
  'calls at the same time get their own responses',
  { source: `${guides}/architecture` },
  async (t) => {
    const words = Array.from({ length: 12 }, (_, n) => `call ${n}`)
    const calls = words.map((body) => t.http('POST', 'conformance-runtime/slow', { body }))
    for (const [n, response] of (await Promise.all(calls)).entries()) {
      response.text(200, words[n] ?? '')
    }
  },
)

// What a stock client makes of responses.

/** A response, and what the client hands on of it. */
const responses: Record<string, [object, unknown]> = {
  'json-upper-case': [
    { headers: { 'content-type': 'Application/JSON; charset=utf-8' }, body: '{"a":[1]}' },
    { a: [1] },
  ],
  text: [{ headers: { 'content-type': 'text/plain' }, body: 'Größe' }, 'Größe'],
  html: [{ headers: { 'content-type': 'text/css' }, body: 'a { b: c }' }, 'a { b: c }'],
}
for (const [name, [response, data]] of Object.entries(responses)) {
  invoke.case(
    `response.${name === 'html' ? 'other' : name}`,
    'a response is handed on by its content type',
    { source: client },
    async (t) => {
      const result = await t.anon.functions.invoke<unknown>('conformance-response', {
        body: response,
      })
      t.data(result, data)
    },
  )
}

for (const type of ['application/octet-stream', 'application/pdf']) {
  invoke.case(
    `response.${type.split('/')[1] ?? ''}`,
    'a response of bytes is a blob',
    { source: client },
    async (t) => {
      const body = { headers: { 'content-type': type }, hex: '00ff80' }
      const result = await t.anon.functions.invoke<Blob>('conformance-response', { body })
      t.ok(result)
      t.response().bytes(200, new Uint8Array([0, 255, 128]))
      const { data } = result
      const got = data ? Buffer.from(await data.arrayBuffer()).toString('hex') : ''
      t.equal(got, '00ff80')
    },
  )
}

invoke.case('response.form', 'a response that is a form is one', { source: client }, async (t) => {
  const result = await t.anon.functions.invoke<FormData>('conformance-runtime/form')
  t.ok(result)
  const file = result.data?.get('file')
  const text = file instanceof Blob ? await file.text() : null
  t.equal([result.data?.get('word'), text], ['hello', 'in a file'])
})

invoke.case(
  'response.events',
  'a response of server-sent events is handed on as it comes',
  { source: client },
  async (t) => {
    const result = await t.anon.functions.invoke<Response>('conformance-runtime/events')
    t.ok(result)
    const text = await result.data?.text()
    t.equal(text, 'data: one\n\nevent: end\ndata: two\n\n')
  },
)

invoke.case(
  'error.http',
  'a response that is no success is a FunctionsHttpError with the response',
  { source: `${guides}/error-handling#client-side-error-handling` },
  async (t) => {
    const body = {
      ...{ status: 422, body: '{"error":"no such thing"}' },
      headers: { 'content-type': 'application/json' },
    }
    const result = await t.anon.functions.invoke<unknown>('conformance-response', { body })
    const { name, context } = result.error as { name: string; context: Response }
    t.equal([result.data, name, context.status], [null, 'FunctionsHttpError', 422])
    t.equal(await context.json(), { error: 'no such thing' })
  },
)

invoke.case(
  'error.missing',
  'a call of a function that is not there is an error',
  { source: `${guides}/error-handling#client-side-error-handling` },
  async (t) => {
    const result = await t.anon.functions.invoke<unknown>('conformance-not-there')
    const { name, context } = result.error as { name: string; context: Response }
    t.equal([name, context.status], [/^Functions(Http|Relay)Error$/, 404], null)
    t.response().is(404)
  },
)
