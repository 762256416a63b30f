import { group } from '../../case.ts'
import { partly } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/transactions.html'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'
const settings = `${docs}#request-headers-cookies-and-jwt-claims`

export const request = group('rest.request', {
  title: 'What the database knows of a request, and says of the response',
  source: `${docs}#transaction-scoped-settings`,
  needs: ['sql'],
})

request.case(
  'header',
  'headers are known by their names in lower case',
  { source: settings },
  (t) =>
    t
      .post(
        'rpc/conformance_header',
        { name: 'x-conformance' },
        { headers: { 'X-Conformance': 'sent' } },
      )
      .is(200, 'sent'),
)

request.case('cookie', 'cookies are known by their names', { source: settings }, (t) =>
  t
    .post('rpc/conformance_request', {}, { headers: { cookie: 'one=1; two=second' } })
    .has(200, { cookies: partly({ one: '1', two: 'second' }) }),
)

request.case(
  'claims',
  'the claims of a token are known',
  { source: settings, needs: ['jwt'] },
  (t) => {
    const claims = {
      role: 'authenticated',
      sub: '11111111-2222-3333-4444-555555555555',
      email: 'someone@example.com',
      app_metadata: { roles: ['editor'] },
    }
    return t.post('rpc/conformance_claims', {}, { as: { token: t.sign(claims) } }).has(200, claims)
  },
)

request.case(
  'role',
  'the role of the token is the role of the transaction',
  { source: `${docs}#request-role-and-search-path` },
  (t) => t.post('rpc/conformance_request', {}).has(200, { role: 'anon' }),
)

request.case(
  'role.service',
  'the role of the service key is the role of the transaction',
  { source: `${docs}#request-role-and-search-path`, needs: ['service'] },
  (t) => t.get('rpc/conformance_request', { as: 'service' }).has(200, { role: 'service_role' }),
)

for (const method of ['GET', 'POST']) {
  request.case(
    `method.${method.toLowerCase()}`,
    `the method ${method} is known`,
    { source: `${docs}#request-path-and-method` },
    (t) => t.http(method, 'rpc/conformance_request').has(200, { method }),
  )
}

request.case('path', 'the path is known', { source: `${docs}#request-path-and-method` }, (t) =>
  t.get('rpc/conformance_request').has(200, { path: /\/rpc\/conformance_request$/ }),
)

const status = `${docs}#response-status-code`
const headers = `${docs}#response-headers`

request.case('status', 'the database chooses the status', { source: status }, (t) =>
  t.post('rpc/conformance_respond', { status: '418' }).is(418, 'responded'),
)

request.case(
  'status.invalid',
  'a status that is no number is refused',
  { source: `${errors}#pgrst112` },
  (t) => t.post('rpc/conformance_respond', { status: 'fine' }).has(500, { code: 'PGRST112' }),
)

request.case('headers', 'the database adds headers', { source: headers }, (t) =>
  t
    .post('rpc/conformance_respond_headers', {
      headers: '[{"X-Conformance": "one"}, {"X-Other": "two"}]',
    })
    .is(200, 'responded')
    .header('x-conformance', 'one')
    .header('x-other', 'two'),
)

request.case(
  'headers.repeated',
  'the database adds a header several times',
  { source: headers },
  (t) =>
    t
      .post('rpc/conformance_respond_headers', {
        headers: '[{"X-Conformance": "one"}, {"X-Conformance": "two"}]',
      })
      .is(200, 'responded')
      .header('x-conformance', 'one, two'),
)

request.case(
  'headers.override',
  'a header of the database takes the place of the own one',
  { source: headers },
  (t) =>
    t
      .post('rpc/conformance_respond_headers', {
        headers: '[{"Content-Type": "application/vnd.conformance+json"}]',
      })
      .is(200, 'responded')
      .header('content-type', 'application/vnd.conformance+json'),
)

request.case(
  'headers.vary',
  'the header Vary of the database takes the place of the own one',
  { source: 'https://docs.postgrest.org/en/stable/references/api/vary_header.html' },
  (t) =>
    t
      .post('rpc/conformance_respond_headers', { headers: '[{"Vary": "Accept, X-Test-Vary"}]' })
      .is(200, 'responded')
      .header('vary', /^(?!.*prefer).*accept, x-test-vary/i),
)

/** Headers that are none. */
const invalid: [name: string, promise: string, headers: string][] = [
  ['object', 'headers of the database in one object are refused', '{"X-Conformance": "one"}'],
  [
    'several',
    'an object of several headers is refused',
    '[{"X-Conformance": "one", "X-Other": "two"}]',
  ],
  ['value', 'a header whose value is no text is refused', '[{"X-Conformance": 1}]'],
  ['malformed', 'headers that cannot be read are refused', '[{"X-Conformance"'],
]

for (const [name, promise, value] of invalid) {
  request.case(`headers.invalid.${name}`, promise, { source: `${errors}#pgrst111` }, (t) =>
    t.post('rpc/conformance_respond_headers', { headers: value }).has(500, { code: 'PGRST111' }),
  )
}

request.case(
  'function-setting.timeout',
  "a function's own time limit ends it",
  { source: `${docs}#hoisted-function-settings` },
  (t) => t.post('rpc/conformance_hurried', {}).has(500, { code: '57014' }),
)

request.case(
  'function-setting.isolation',
  "a function's own isolation level is that of its transaction",
  { source: `${docs}#isolation-level` },
  (t) => t.post('rpc/conformance_isolated', {}).is(200, 'serializable'),
)

request.case(
  'isolation',
  'transactions read what is committed unless they say otherwise',
  { source: `${docs}#isolation-level` },
  (t) =>
    t.post('rpc/conformance_setting', { name: 'transaction_isolation' }).is(200, 'read committed'),
)

request.case(
  'abort',
  'what a function has written is undone where it fails',
  { source: `${docs}#aborting-transactions` },
  async (t) => {
    const key = t.unique('abort')
    await t.post('rpc/conformance_write_and_fail', { note_key: key }).has(400, { code: 'P0001' })
    await t.get(`conformance_notes?key=eq.${key}`).is(200, [])
  },
)

request.case(
  'read-only',
  'a view that writes when it is read is not allowed',
  { source: `${docs}#access-mode` },
  (t) => t.get('conformance_counted').has(405, { code: '25006' }),
)
