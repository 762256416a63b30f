import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/resource_embedding.html'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'

export const embedFilter = group('rest.embed-filter', {
  title: 'Filters, orders and limits of related rows',
  source: `${docs}#embedded-filters`,
  needs: ['sql'],
})

/** Queries, and the rows that they return. */
const queries: [name: string, promise: string, query: string, rows: object[], anchor?: string][] = [
  [
    'filter',
    'a filter of embedded rows leaves the outer rows',
    'conformance_publishers?select=id,conformance_books(id)&conformance_books.pages=gt.100&order=id',
    [
      { id: 1, conformance_books: [{ id: 1 }] },
      { id: 2, conformance_books: [{ id: 3 }] },
      { id: 3, conformance_books: [] },
    ],
  ],
  [
    'filter.to-one',
    'a filter of an embedded row leaves null in its place',
    'conformance_people?select=id,conformance_countries(name)&conformance_countries.name=eq.France&id=in.(1,2)&order=id',
    [
      { id: 1, conformance_countries: null },
      { id: 2, conformance_countries: { name: 'France' } },
    ],
    'top-level-filtering',
  ],
  [
    'order',
    'embedded rows are ordered',
    'conformance_publishers?select=conformance_books(id)&conformance_books.order=id.desc&id=eq.1',
    [{ conformance_books: [{ id: 2 }, { id: 1 }] }],
  ],
  [
    'limit',
    'embedded rows are limited, from an offset on',
    'conformance_publishers?select=id,conformance_books(id)&conformance_books.order=id&conformance_books.limit=1&conformance_books.offset=1&order=id&id=lt.3',
    [
      { id: 1, conformance_books: [{ id: 2 }] },
      { id: 2, conformance_books: [{ id: 5 }] },
    ],
  ],
  [
    'or',
    'or is about columns of embedded rows',
    'conformance_publishers?select=conformance_books(id)&conformance_books.or=(genre.eq.poetry,pages.gt.500)&id=eq.1',
    [{ conformance_books: [{ id: 2 }] }],
  ],
  [
    'alias',
    'the same table is embedded twice with filters of its own',
    'conformance_publishers?select=short:conformance_books(id),long:conformance_books(id)&short.pages=lt.100&long.pages=gte.100&id=eq.1',
    [{ short: [{ id: 2 }], long: [{ id: 1 }] }],
  ],
  [
    'nested',
    'rows within embedded rows are filtered and ordered',
    'conformance_branches?select=conformance_stock(copies,conformance_books(id))&conformance_stock.order=copies.desc&conformance_stock.conformance_books.genre=eq.science&id=eq.1',
    [
      {
        conformance_stock: [
          { copies: 3, conformance_books: { id: 1 } },
          { copies: 2, conformance_books: null },
          { copies: 1, conformance_books: null },
        ],
      },
    ],
  ],
  [
    'not-null',
    'not.is.null of an embed keeps rows that have embedded rows',
    'conformance_publishers?select=id,conformance_books()&conformance_books=not.is.null&order=id',
    [{ id: 1 }, { id: 2 }],
    'null-filtering-on-embedded-resources',
  ],
  [
    'null',
    'is.null of an embed keeps rows that have no embedded rows',
    'conformance_publishers?select=id,conformance_books()&conformance_books=is.null',
    [{ id: 3 }],
    'null-filtering-on-embedded-resources',
  ],
  [
    'null.filtered',
    'is.null of an embed is about the rows that its filter leaves',
    'conformance_publishers?select=id,conformance_books()&conformance_books.genre=eq.poetry&conformance_books=is.null&order=id',
    [{ id: 2 }, { id: 3 }],
    'null-filtering-on-embedded-resources',
  ],
  [
    'null.or',
    'conditions about several embeds are joined by or',
    'conformance_people?select=id,conformance_biographies(),conformance_countries()&conformance_countries.code=eq.DE&or=(conformance_biographies.not.is.null,conformance_countries.not.is.null)&order=id',
    [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }],
    'or-filtering-across-embedded-resources',
  ],
  [
    'empty',
    'an embed without columns filters, and is not returned',
    'conformance_people?select=name,conformance_countries()&conformance_countries.name=eq.France&conformance_countries=not.is.null&id=eq.2',
    [{ name: 'Blaise' }],
    'empty-embed',
  ],
]

for (const [name, promise, query, rows, anchor = 'embedded-filters'] of queries) {
  embedFilter.case(name, promise, { source: `${docs}#${anchor}` }, (t) =>
    t.get(query).is(200, rows),
  )
}

embedFilter.case(
  'client',
  'order and limit of the client library are about embedded rows',
  { source: 'https://supabase.com/docs/reference/javascript/order' },
  async (t) => {
    const rows = t.anon.from('conformance_publishers').select('conformance_books(id)').eq('id', 1)
    const referencedTable = 'conformance_books'
    t.data(
      await rows.order('id', { ascending: false, referencedTable }).limit(1, { referencedTable }),
      [{ conformance_books: [{ id: 2 }] }],
    )
  },
)

embedFilter.case(
  'not-embedded',
  'a filter of a table that is not embedded is refused',
  { source: `${errors}#pgrst108` },
  (t) =>
    t
      .get('conformance_people?select=id&conformance_countries.name=eq.France')
      .has(400, { code: 'PGRST108' }),
)

embedFilter.case(
  'operator',
  'an embed is compared with null alone',
  { source: `${errors}#pgrst120` },
  (t) =>
    // The page names PGRST120; where the filter is taken for one of a column, Postgres refuses it as unknown.
    t
      .get('conformance_people?select=id,conformance_countries()&conformance_countries=eq.1')
      .has(400, { code: /^(PGRST120|42703)$/ }),
)

embedFilter.case(
  'alias.table-name',
  'a filter by the name of a table that has an alias is refused, or gets a response with a warning',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  async (t) => {
    const query = 'conformance_publishers?select=books:conformance_books(id)&id=eq.1'
    const response = await t.get(`${query}&conformance_books.genre=eq.poetry`)
    if (response.status === 200)
      response.is(200, [{ books: [{ id: 2 }] }]).header('warning', /^299 /)
    else response.has(400, { code: 'PGRST108' })
  },
)
