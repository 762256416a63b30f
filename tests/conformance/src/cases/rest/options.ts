import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/options.html'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'
const cors = 'https://docs.postgrest.org/en/stable/references/api/cors.html'

export const options = group('rest.options', {
  title: 'Allowed methods and origins',
  source: docs,
  needs: ['sql'],
})

/** Places, and the methods that they allow. */
const places: [name: string, promise: string, path: string, allowed: string][] = [
  [
    'table',
    'a table allows everything',
    'conformance_notes',
    'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE',
  ],
  [
    'view',
    'a view that Postgres cannot update is read',
    'conformance_page_sums',
    'OPTIONS,GET,HEAD',
  ],
  [
    'view.trigger',
    'a view with a trigger for inserts allows POST',
    'conformance_note_marks',
    'OPTIONS,GET,HEAD,POST',
  ],
  [
    'function',
    'a function that may write allows POST',
    'rpc/conformance_reading_volatile',
    'OPTIONS,POST',
  ],
  [
    'function.stable',
    'a function that only reads allows GET, too',
    'rpc/conformance_reading_stable',
    'OPTIONS,GET,HEAD,POST',
  ],
]

for (const [name, promise, path, allowed] of places) {
  options.case(name, promise, (t) => t.http('OPTIONS', path).empty(200).header('allow', allowed))
}

options.case(
  'unknown',
  'a table that is not there allows nothing',
  { source: `${errors}#pgrst205` },
  (t) => t.http('OPTIONS', 'conformance_nowhere').has(404, { code: 'PGRST205' }),
)

options.case('privilege', 'methods are those of the table, whatever the role may do', (t) =>
  t
    .http('OPTIONS', 'conformance_branches')
    .empty(200)
    .header('allow', 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE'),
)

const origin = 'http://example.com'

/** A preflight request of a browser. */
const preflight = {
  as: 'nobody',
  headers: {
    origin,
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'authorization, content-type, x-conformance',
  },
} as const

options.case(
  'preflight',
  'a browser may ask from any origin, for every method and with its headers',
  { source: cors },
  (t) =>
    t
      .http('OPTIONS', 'conformance_notes', preflight)
      .is(200)
      .header('access-control-allow-origin', /^(\*|http:\/\/example\.com)$/)
      .header('access-control-allow-methods', /(?=.*GET)(?=.*POST)(?=.*PATCH)(?=.*PUT)(?=.*DELETE)/)
      .header(
        'access-control-allow-headers',
        /^\*$|^(?=.*authorization)(?=.*content-type)(?=.*x-conformance)/i,
      ),
)

options.case(
  'preflight.age',
  'a browser need not ask again for a day',
  { source: cors },
  async (t) => {
    const response = await t.http('OPTIONS', 'conformance_notes', preflight).is(200)
    // Gateways that respond in the place of REST may leave it to the browser.
    if (response.headerValue('access-control-max-age') === '') t.absent('no age is told')
    response.header('access-control-max-age', '86400')
  },
)

options.case('origin', 'a response may be read from any origin', { source: cors }, (t) =>
  t
    .get('conformance_branches?id=eq.1', { headers: { origin } })
    .is(200, [{ id: 1, name: 'Harbour' }])
    .header('access-control-allow-origin', /^(\*|http:\/\/example\.com)$/),
)
