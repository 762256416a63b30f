import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/errors.html'
const source = 'https://github.com/PostgREST/postgrest/blob/main/src/library/PostgREST/Error.hs'

export const error = group('rest.error', {
  title: 'Errors, their codes and statuses',
  source: docs,
  needs: ['sql'],
})

/** Errors of Postgres, and the status that each is. */
const statuses: [code: string, status: number, what: string][] = [
  ['08000', 503, 'a connection that fails'],
  ['09000', 500, 'a trigger that fails'],
  ['0L000', 403, 'an invalid grantor'],
  ['0P000', 403, 'an invalid role'],
  ['23503', 409, 'a foreign key that leads nowhere'],
  ['23505', 409, 'a value that is not unique'],
  ['25006', 405, 'a transaction that only reads'],
  ['25000', 500, 'an invalid state of a transaction'],
  ['28000', 403, 'an invalid authorization'],
  ['2D000', 500, 'an invalid end of a transaction'],
  ['38000', 500, 'an external routine that fails'],
  ['39000', 500, 'an external routine that is called wrongly'],
  ['3B000', 500, 'a savepoint that fails'],
  ['40001', 500, 'a transaction that is rolled back'],
  ['53400', 500, 'a limit of the configuration'],
  ['53000', 503, 'resources that are used up'],
  ['54000', 500, 'a statement that is too complex'],
  ['55000', 500, 'an object in another state'],
  ['57014', 500, 'an operator who cancels'],
  ['58000', 500, 'a system that fails'],
  ['F0000', 500, 'a file of the configuration'],
  ['HV000', 500, 'a foreign table that fails'],
  ['P0001', 400, 'an exception without a code'],
  ['P0002', 500, 'a function that finds no data'],
  ['XX000', 500, 'an internal error'],
  ['42883', 404, 'a function that is not there'],
  ['42P01', 404, 'a table that is not there'],
  ['42P17', 500, 'an infinite recursion'],
  ['42501', 401, 'a privilege that the anonymous role lacks'],
  ['22012', 400, 'any other error'],
]

for (const [code, status, what] of statuses) {
  error.case(
    `status.${code.toLowerCase()}`,
    `${what} is the status ${status}`,
    { source: `${docs}#http-status-codes` },
    (t) =>
      t
        .post('rpc/conformance_raise', { code, message: 'raised', detail: 'why', hint: 'how' })
        .is(status, { code, message: 'raised', details: 'why', hint: 'how' }),
  )
}

error.case(
  'cardinality',
  'several rows in the place of one value are an error of the server',
  { source },
  (t) => t.post('rpc/conformance_rows_as_one', {}).has(500, { code: '21000' }),
)

error.case(
  'recursion',
  'a policy that asks itself is an error of the server',
  { source: `${docs}#http-status-codes` },
  (t) => t.get('conformance_endless').has(500, { code: '42P17' }),
)

const raise = `${docs}#raise-errors-with-http-status-codes`

error.case('raise', 'what a function raises is told, with the status 400', { source: raise }, (t) =>
  t.post('rpc/conformance_write_and_fail', { note_key: t.unique('never') }).is(400, {
    code: 'P0001',
    message: 'I refuse',
    details: 'Pretty simple',
    hint: 'Nothing helps',
  }),
)

error.case('raise.success', 'a code PT200 is the status 200', { source: raise }, (t) =>
  t
    .post('rpc/conformance_raise', { code: 'PT200', message: 'fine', detail: 'd', hint: 'h' })
    .is(200, { code: 'PT200', message: 'fine', details: 'd', hint: 'h' }),
)

const headers = `${docs}#add-http-headers-with-raise`
const message = { code: '123', message: 'Pay', details: 'Quota', hint: 'Upgrade' }

error.case(
  'raise.json',
  'an error in JSON chooses its code, its status and its headers',
  { source: headers },
  (t) =>
    t
      .post('rpc/conformance_raise', {
        code: 'PGRST',
        message: JSON.stringify(message),
        detail: JSON.stringify({ status: 402, headers: { 'X-Powered-By': 'Nerd Rage' } }),
      })
      .is(402, message)
      .header('x-powered-by', 'Nerd Rage'),
)

error.case(
  'raise.json.short',
  'an error in JSON needs no details and no hint, and its status may be of its own',
  { source: headers },
  (t) =>
    t
      .post('rpc/conformance_raise', {
        code: 'PGRST',
        message: '{"code": "419", "message": "Expired"}',
        detail: '{"status": 419, "status_text": "Page Expired", "headers": {}}',
      })
      .is(419, { code: '419', message: 'Expired', details: null, hint: null }),
)

/** Errors in JSON that cannot be read. */
const unreadable: [
  name: string,
  promise: string,
  message: string,
  detail: string,
  details: string,
][] = [
  [
    'message',
    'a message that is no JSON is refused',
    'Pay',
    '{"status": 402, "headers": {}}',
    "Invalid JSON value for MESSAGE: 'Pay'",
  ],
  [
    'message.members',
    'a message without a code is refused',
    '{"message": "Pay"}',
    '{"status": 402, "headers": {}}',
    'Invalid JSON value for MESSAGE: \'{"message": "Pay"}\'',
  ],
  [
    'detail',
    'a detail that is no JSON is refused',
    JSON.stringify(message),
    'soon',
    "Invalid JSON value for DETAIL: 'soon'",
  ],
  [
    'detail.members',
    'a detail without headers is refused',
    JSON.stringify(message),
    '{"status": 402}',
    'Invalid JSON value for DETAIL: \'{"status": 402}\'',
  ],
]

for (const [name, promise, text, detail, details] of unreadable) {
  error.case(`raise.json.${name}`, promise, { source }, (t) =>
    t
      .post('rpc/conformance_raise', { code: 'PGRST', message: text, detail })
      .has(500, { code: 'PGRST121', details }),
  )
}

error.case('raise.json.missing', 'an error in JSON without a detail is refused', { source }, (t) =>
  t
    .post('rpc/conformance_raise_without_detail', {
      code: 'PGRST',
      message: JSON.stringify(message),
    })
    .has(500, { code: 'PGRST121', details: 'DETAIL is missing in the RAISE statement' }),
)

error.case(
  'proxy-status',
  'a header tells the code of an error',
  { source: `${docs}#proxy-status-header` },
  (t) =>
    t
      .get('conformance_people?nowhere=eq.1')
      .has(400, { code: '42703' })
      .header('proxy-status', 'PostgREST; error=42703')
      .header('content-type', 'application/json; charset=utf-8'),
)

error.case(
  'proxy-status.head',
  'a header tells the code of an error where there is no body',
  { source: `${docs}#proxy-status-header` },
  (t) =>
    t.head('conformance_nowhere').empty(404).header('proxy-status', 'PostgREST; error=PGRST205'),
)

error.case('table', 'a table that is not there is not found', { source: `${docs}#pgrst205` }, (t) =>
  t.get('conformance_nowhere_at_all').has(404, {
    code: 'PGRST205',
    message: "Could not find the table 'public.conformance_nowhere_at_all' in the schema cache",
  }),
)

error.case('table.hint', 'a table with nearly the same name is suggested', { source }, (t) =>
  t.get('conformance_countriess').has(404, {
    code: 'PGRST205',
    hint: "Perhaps you meant the table 'public.conformance_countries'",
  }),
)

/** Requests that cannot be understood. */
const requests: [
  name: string,
  promise: string,
  method: string,
  path: string,
  status: number,
  code: string,
][] = [
  [
    'filter',
    'a filter without an operator is refused',
    'GET',
    'conformance_people?id=1',
    400,
    'PGRST100',
  ],
  [
    'filter.operator',
    'a filter with an unknown operator is refused',
    'GET',
    'conformance_people?id=near.1',
    400,
    'PGRST100',
  ],
  [
    'filter.is',
    'is takes no other values',
    'GET',
    'conformance_people?active=is.maybe',
    400,
    'PGRST100',
  ],
  [
    'logic',
    'conditions that break off are refused',
    'GET',
    'conformance_people?or=(id.eq.1',
    400,
    'PGRST100',
  ],
  ['path', 'a path below a table is not found', 'GET', 'conformance_people/1', 404, 'PGRST125'],
  [
    'method',
    'a method that is none of those is not allowed',
    'LINK',
    'conformance_people',
    405,
    'PGRST117',
  ],
]

for (const [name, promise, method, path, status, code] of requests) {
  error.case(`request.${name}`, promise, { source: `${docs}#${code.toLowerCase()}` }, (t) =>
    t.http(method, path).has(status, { code }),
  )
}

error.case(
  'aggregates',
  'aggregates are refused unless they are enabled',
  { source: `${docs}#pgrst123` },
  async (t) => {
    const response = await t.get('conformance_numbers?select=count()')
    if (response.status === 200) response.is(200, [{ count: 200 }])
    else
      response.has(400, { code: 'PGRST123', message: 'Use of aggregate functions is not allowed' })
  },
)
