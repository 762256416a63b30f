import { group } from '../../case.ts'

const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'
const transactions = 'https://docs.postgrest.org/en/stable/references/transactions.html'
const code = 'https://github.com/PostgREST/postgrest/blob/main/src/library/PostgREST/Error.hs'

export const refusal = group('rest.function-refusal', {
  title: 'Calls of functions that are refused',
  source: errors,
  needs: ['sql'],
})

/** Calls that are refused. */
const refusals: [
  name: string,
  promise: string,
  method: string,
  path: string,
  body: unknown,
  status: number,
  error: string,
  source: string,
][] = [
  [
    'write.get',
    'a function that writes is not allowed by GET',
    'GET',
    'conformance_write_note?note_key=a&note_body=b',
    undefined,
    405,
    '25006',
    `${transactions}#access-mode`,
  ],
  [
    'write.stable',
    'a function that writes although it says otherwise is not allowed',
    'POST',
    'conformance_stable_write',
    { note_key: 'a' },
    405,
    '25006',
    `${transactions}#access-mode-on-functions`,
  ],
  [
    'ambiguous',
    'of functions with the same names of arguments none is chosen',
    'POST',
    'conformance_ambiguous',
    { a: 1 },
    300,
    'PGRST203',
    `${errors}#pgrst203`,
  ],
  [
    'missing-argument',
    'a function without its arguments is not found',
    'POST',
    'conformance_greet',
    {},
    404,
    'PGRST202',
    `${errors}#pgrst202`,
  ],
  [
    'unknown-argument',
    'a function with an argument too many is not found',
    'POST',
    'conformance_greet',
    { name: 'a', more: 1 },
    404,
    'PGRST202',
    `${errors}#pgrst202`,
  ],
  [
    'method',
    'functions take GET and POST alone',
    'PATCH',
    'conformance_add',
    { a: 1 },
    405,
    'PGRST101',
    `${errors}#pgrst101`,
  ],
  [
    'argument-type',
    'an argument of another type is refused',
    'POST',
    'conformance_add',
    { a: 'one' },
    400,
    '22P02',
    `${errors}#http-status-codes`,
  ],
  [
    'body',
    'a body that cannot be read is refused',
    'POST',
    'conformance_add',
    '{"a": ',
    400,
    'PGRST102',
    `${errors}#pgrst102`,
  ],
  [
    'body.type',
    'a body of a type that is none of those is refused',
    'POST',
    'conformance_add',
    '<a/>',
    400,
    'PGRST102',
    `${errors}#pgrst102`,
  ],
]

for (const [name, promise, method, path, body, status, error, source] of refusals) {
  const type = name === 'body.type' ? 'application/unknown' : 'application/json'
  refusal.case(name, promise, { source }, (t) =>
    t
      .http(method, `rpc/${path}`, { body, headers: { 'content-type': type } })
      .has(status, { code: error }),
  )
}

refusal.case(
  'unknown.message',
  'a function that is not there is told by its name and arguments',
  { source: code },
  (t) =>
    t.post('rpc/conformance_nowhere_at_all', {}).has(404, {
      message:
        'Could not find the function public.conformance_nowhere_at_all without parameters in the schema cache',
    }),
)

refusal.case(
  'unknown.hint',
  'a function with nearly the same name is suggested',
  { source: code },
  (t) =>
    t.post('rpc/conformance_unnamed_texts', {}).has(404, {
      code: 'PGRST202',
      hint: 'Perhaps you meant to call the function public.conformance_unnamed_text',
    }),
)
