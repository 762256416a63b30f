import { group } from '../../case.ts'
import { unordered } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/functions.html'

export const functions = group('rest.function', {
  title: 'Functions of the database',
  source: docs,
  needs: ['sql'],
})

functions.case('scalar', 'a function of a scalar responds with the value', (t) =>
  t.post('rpc/conformance_add', { a: 1, b: 2 }).is(200, 3),
)

functions.case('default', 'an argument with a default may be left out', async (t) => {
  t.data(await t.anon.rpc('conformance_add', { a: 1 }), 11)
})

functions.case(
  'get',
  'a function that changes nothing responds to GET',
  { source: `${docs}#calling-with-get` },
  (t) => t.get('rpc/conformance_greet?name=Ada').is(200, 'Hello, Ada'),
)

functions.case('void', 'a function of nothing responds with 204', (t) =>
  t.post('rpc/conformance_nothing', {}).empty(204),
)

functions.case(
  'table',
  'the rows of a function are filtered and ordered',
  { source: `${docs}#table-valued-functions` },
  (t) =>
    t.get('rpc/conformance_pairs?low=1&high=9&n=gt.7&order=n.desc').is(200, [
      { n: 9, square: 81 },
      { n: 8, square: 64 },
    ]),
)

functions.case(
  'raise.status',
  "an error's code PT402 is the status 402",
  {
    source:
      'https://docs.postgrest.org/en/stable/references/errors.html#raise-errors-with-http-status-codes',
  },
  (t) =>
    t
      .post('rpc/conformance_raise', {
        code: 'PT402',
        message: 'pay',
        detail: 'first',
        hint: 'cash',
      })
      .is(402, { code: 'PT402', message: 'pay', details: 'first', hint: 'cash' }),
)

functions.case(
  'unknown',
  'a function that is not there is not found',
  { source: 'https://docs.postgrest.org/en/stable/references/errors.html' },
  (t) => t.post('rpc/conformance_not_there', {}).has(404, { code: 'PGRST202' }),
)

const transactions = 'https://docs.postgrest.org/en/stable/references/transactions.html'
const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }

/** A call by GET or, where there is a body, by POST; and its result. */
const calls: [
  name: string,
  promise: string,
  path: string,
  body: unknown,
  result: unknown,
  anchor?: string,
][] = [
  ['null', 'a result that is null is null', 'conformance_null', {}, null, 'scalar-functions'],
  [
    'set',
    'values of a set are an array',
    'conformance_series',
    { low: 3, high: 5 },
    unordered(3, 4, 5),
    'table-valued-functions',
  ],
  [
    'array',
    'an array is taken and returned',
    'conformance_array',
    { numbers: [1, 2] },
    [2, 4],
    'functions-with-array-parameters',
  ],
  [
    'array.get',
    'an array is taken from a literal',
    'conformance_array?numbers=%7B3,4%7D',
    undefined,
    [6, 8],
    'functions-with-array-parameters',
  ],
  [
    'variadic',
    'any number of arguments is taken from an array',
    'conformance_sum',
    { numbers: [1, 2, 3] },
    6,
    'variadic-functions',
  ],
  [
    'variadic.get',
    'any number of arguments is taken from a repeated name',
    'conformance_sum?numbers=1&numbers=2&numbers=4',
    undefined,
    7,
    'variadic-functions',
  ],
  [
    'overload',
    'of functions with one name the one with the arguments is called',
    'conformance_over',
    { a: 1, b: 2 },
    'two',
    'overloaded-functions',
  ],
  [
    'overload.fewer',
    'of functions with one name the one with fewer arguments is called',
    'conformance_over?a=1',
    undefined,
    'one',
    'overloaded-functions',
  ],
  [
    'overload.name',
    'of functions with one name the one with the name of the argument is called',
    'conformance_over',
    { word: 'x' },
    'word',
    'overloaded-functions',
  ],
  [
    'named-json',
    'an argument of JSON is taken by its name',
    'conformance_named_json',
    { document: [{ a: 1 }, { a: 2 }] },
    [{ a: 1 }, { a: 2 }],
    'functions-with-an-array-of-json-objects',
  ],
  [
    'unnamed-json',
    'the whole body is an argument without a name',
    'conformance_unnamed_json',
    { x: 4, y: [2] },
    { x: 4, y: [2] },
    'functions-with-a-single-unnamed-json-parameter',
  ],
  [
    'unnamed-json.fallback',
    'the function of the whole body is called where no other fits',
    'conformance_fallback',
    { b: 2 },
    'body 2',
    'functions-with-a-single-unnamed-json-parameter',
  ],
  [
    'unnamed-json.other',
    'a function that fits is called before that of the whole body',
    'conformance_fallback',
    { a: 2 },
    'a 2',
    'functions-with-a-single-unnamed-json-parameter',
  ],
  [
    'quoted',
    'names with capitals are called as they are',
    'conformance_Camel',
    { someName: 'x' },
    'x',
    'calling-with-post',
  ],
  [
    'defaults.get',
    'an argument with a default may be left out of a query',
    'conformance_add?a=5',
    undefined,
    15,
    'calling-with-get',
  ],
  [
    'json',
    'JSON is returned as it is',
    'conformance_echo_json',
    {},
    { a: 1, b: [true, null] },
    'scalar-functions',
  ],
  [
    'enum',
    'a value of an enumeration is taken as text',
    'conformance_genre_of?genre=poetry',
    undefined,
    'poetry',
    'calling-with-get',
  ],
  [
    'composite',
    'a composite value is taken as an object',
    'conformance_composite',
    { place: { street: 'x', city: 'Ulm', zip: 1 } },
    'Ulm',
    'calling-with-post',
  ],
  [
    'out',
    'several results of one call are an object',
    'conformance_out?a=1',
    undefined,
    { total: 2, label: 'n1' },
    'calling-with-get',
  ],
]

for (const [name, promise, path, body, result, anchor] of calls) {
  functions.case(name, promise, { source: `${docs}#${anchor ?? ''}` }, (t) =>
    (body === undefined ? t.get(`rpc/${path}`) : t.post(`rpc/${path}`, body)).is(200, result),
  )
}

functions.case(
  'record',
  'rows of no declared type are returned',
  { source: `${docs}#untyped-functions` },
  (t) =>
    t
      .get('rpc/conformance_records')
      .is(
        200,
        unordered({ id: 1, name: 'Harbour' }, { id: 2, name: 'Hill' }, { id: 3, name: 'Empty' }),
      ),
)

functions.case(
  'row',
  'a function of one row responds with an object',
  { source: `${docs}#table-valued-functions` },
  async (t) => {
    const row = await t.anon.rpc('conformance_writer', { of_id: 2 }).select('id,name')
    t.data(row, { id: 2, name: 'Blaise' })
  },
)

functions.case(
  'form',
  'arguments are taken from a form',
  {
    source:
      'https://docs.postgrest.org/en/stable/references/api/resource_representation.html#request-body',
  },
  (t) => t.post('rpc/conformance_add', 'a=3&b=4', form).is(200, 7),
)

functions.case(
  'variadic.form',
  'any number of arguments is taken from a repeated name of a form',
  { source: `${docs}#variadic-functions` },
  (t) => t.post('rpc/conformance_sum', 'numbers=5&numbers=6', form).is(200, 11),
)

const single = `${docs}#functions-with-a-single-unnamed-parameter`

functions.case('unnamed-text', 'a text is an argument as it is', { source: single }, (t) =>
  t
    .post('rpc/conformance_unnamed_text', 'say "é"', { headers: { 'content-type': 'text/plain' } })
    .is(200, 'say "é"'),
)

functions.case('unnamed-bytes', 'bytes are an argument as they are', { source: single }, (t) =>
  t
    .post('rpc/conformance_unnamed_bytes', new Uint8Array([0, 255, 34]), {
      headers: { 'content-type': 'application/octet-stream' },
    })
    .is(200, '\\x00ff22'),
)

functions.case('unnamed-xml', 'XML is an argument as it is', { source: single }, (t) =>
  t
    .post('rpc/conformance_unnamed_xml', '<a>inner</a>', {
      headers: { 'content-type': 'text/xml' },
    })
    .is(200, 'inner'),
)

functions.case(
  'filter.unselected',
  'rows of a function are filtered by columns that are not returned',
  { source: `${docs}#horizontal-filtering` },
  async (t) => {
    const rows = t.anon.rpc('conformance_writers', { in_country: 'DE' }).select('id,country')
    t.data(await rows.like('name', 'D*'), [{ id: 4, country: 'DE' }])
  },
)

functions.case(
  'page',
  'rows of a function are limited from an offset on',
  { source: `${docs}#table-valued-functions` },
  async (t) => {
    const rows = t.anon.rpc('conformance_writers', {}, { count: 'exact' }).select('id')
    const result = await rows.order('id').range(1, 2)
    t.data(result, [{ id: 2 }, { id: 3 }])
    t.count(result, 6)
  },
)

functions.case(
  'object',
  'one row of a function is an object where an object is asked for',
  {
    source:
      'https://docs.postgrest.org/en/stable/references/api/resource_representation.html#singular-or-plural',
  },
  async (t) => {
    const row = t.anon.rpc('conformance_writers', { in_country: 'GB' }).select('name')
    t.data(await row.single(), { name: 'Ada' })
  },
)

functions.case(
  'csv',
  'rows of a function are CSV',
  {
    source:
      'https://docs.postgrest.org/en/stable/references/api/resource_representation.html#builtin-media-type-handlers',
  },
  (t) =>
    t
      .get('rpc/conformance_pairs?low=2&high=3&order=n', { accept: 'text/csv' })
      .text(200, /^n,square\n2,4\n3,9\n?$/),
)

functions.case(
  'head',
  'HEAD calls a function without returning rows',
  { source: `${transactions}#access-mode-on-functions` },
  (t) =>
    t
      .head('rpc/conformance_pairs?low=1&high=4', { prefer: 'count=exact' })
      .empty(200)
      .header('content-range', '0-3/4'),
)

functions.case(
  'write',
  'a function that writes, writes',
  { source: `${transactions}#access-mode-on-functions`, needs: ['service'] },
  async (t) => {
    const key = t.unique('write')
    t.removesRows('conformance_notes', 'key', key)
    const call = t.anon.rpc('conformance_write_note', { note_key: key, note_body: 'called' })
    t.data(await call.select('body'), { body: 'called' })
    await t.get(`conformance_notes?select=body&key=eq.${key}`).is(200, [{ body: 'called' }])
  },
)

/** Whether a call may write, by method and by what the function declares. */
const modes: [name: string, promise: string, method: string, path: string, reads: string][] = [
  [
    'mode.volatile',
    'a volatile function may write by POST',
    'POST',
    'conformance_reading_volatile',
    'off',
  ],
  [
    'mode.volatile.get',
    'a volatile function only reads by GET',
    'GET',
    'conformance_reading_volatile',
    'on',
  ],
  [
    'mode.stable',
    'a stable function only reads by POST',
    'POST',
    'conformance_reading_stable',
    'on',
  ],
]

for (const [name, promise, method, path, reads] of modes) {
  functions.case(name, promise, { source: `${transactions}#access-mode-on-functions` }, (t) =>
    t.http(method, `rpc/${path}`).is(200, reads),
  )
}
