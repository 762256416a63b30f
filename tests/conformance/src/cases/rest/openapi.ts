import { group } from '../../case.ts'
import { partly, some, unordered } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/openapi.html'
const source =
  'https://github.com/PostgREST/postgrest/blob/main/src/library/PostgREST/Response/OpenAPI.hs'

export const openapi = group('rest.openapi', {
  title: 'The description of the interface',
  source: docs,
  // Platforms show it to the service role alone.
  needs: ['sql', 'service'],
  probe: async (t) => t.present(await t.get('', { as: 'service' })),
})

openapi.case('root', 'the root describes the interface in OpenAPI', (t) =>
  t
    .get('', { as: 'service' })
    .has(200, { swagger: '2.0' })
    .header('content-type', 'application/openapi+json; charset=utf-8'),
)

openapi.case('accept', 'the description is asked for by its media type', (t) =>
  t.get('', { as: 'service', accept: 'application/openapi+json' }).has(200, { swagger: '2.0' }),
)

openapi.case(
  'head',
  'HEAD of the root has no body',
  {
    source:
      'https://docs.postgrest.org/en/stable/references/api/resource_representation.html#builtin-media-type-handlers',
  },
  (t) =>
    t
      .head('', { as: 'service' })
      .empty(200)
      .header('content-type', 'application/openapi+json; charset=utf-8'),
)

/** Parts of the description. */
const parts: [name: string, promise: string, part: object, source?: string][] = [
  [
    'table',
    'a table is described with the methods that it takes',
    {
      paths: partly({
        '/conformance_notes': partly({
          get: partly({}),
          post: partly({}),
          patch: partly({}),
          delete: partly({}),
        }),
      }),
    },
  ],
  [
    'comment.table',
    'the comment of a table is its description',
    { definitions: partly({ conformance_notes: partly({ description: 'Notes; written' }) }) },
  ],
  [
    'comment.column',
    'the comment of a column is part of its description',
    {
      definitions: partly({
        conformance_people: partly({
          properties: partly({ mentor_id: partly({ description: /Who taught this writer/ }) }),
        }),
      }),
    },
  ],
  [
    'type',
    'a column has the type of JSON and the format of Postgres',
    {
      definitions: partly({
        conformance_books: partly({
          properties: partly({
            title: partly({ type: 'string', format: 'text' }),
            price: partly({ type: 'number', format: 'numeric' }),
          }),
        }),
      }),
    },
    source,
  ],
  [
    'enum',
    'a column of an enumeration lists its values',
    {
      definitions: partly({
        conformance_books: partly({
          properties: partly({
            genre: partly({ enum: ['novel', 'poetry', 'science', 'history'] }),
          }),
        }),
      }),
    },
    source,
  ],
  [
    'required',
    'columns that must have a value are required',
    {
      definitions: partly({
        conformance_publishers: partly({ required: unordered('id', 'name') }),
      }),
    },
    source,
  ],
  [
    'function',
    'a function is described with its arguments',
    {
      paths: partly({
        '/rpc/conformance_greet': partly({
          get: partly({ parameters: [partly({ name: 'name', in: 'query', required: true })] }),
          post: partly({}),
        }),
      }),
    },
    source,
  ],
]

for (const [name, promise, part, where = docs] of parts) {
  openapi.case(name, promise, { source: where }, (t) =>
    t.get('', { as: 'service' }).has(200, part as Record<string, unknown>),
  )
}

openapi.case(
  'function.volatile',
  'a function that may write is described by POST alone',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  (t) =>
    t
      .get('', { as: 'service' })
      .has(200, { paths: partly({ '/rpc/conformance_write_note': { post: some.object } }) }),
)
