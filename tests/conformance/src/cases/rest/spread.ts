import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/resource_embedding.html'

export const spread = group('rest.spread', {
  title: 'Columns of related rows among the own ones',
  source: `${docs}#spread-embedded-resource`,
  needs: ['sql'],
})

/** Queries, and the rows that they return. */
const queries: [name: string, promise: string, query: string, rows: object[], anchor: string][] = [
  [
    'to-one',
    'the columns of a row are lifted, with names of their own',
    'conformance_people?select=name,...conformance_countries(home:name,code)&id=eq.1',
    [{ name: 'Ada', home: 'United Kingdom', code: 'GB' }],
    'spread-to-one-relationships',
  ],
  [
    'to-one.null',
    'the columns of a row that is not there are null',
    'conformance_people?select=id,...conformance_countries(home:name)&id=eq.6',
    [{ id: 6, home: null }],
    'spread-to-one-relationships',
  ],
  [
    'to-many',
    'the columns of several rows are arrays in the order given',
    'conformance_publishers?select=name,...conformance_books(titles:title,pages)&conformance_books.order=pages&id=eq.1',
    [
      {
        name: 'North Press',
        titles: ['Poems of Numbers', 'Notes on the Engine'],
        pages: [80, 120],
      },
    ],
    'order-in-spread-to-many',
  ],
  [
    'many-to-many',
    'the columns of rows beyond a junction are arrays',
    'conformance_branches?select=name,...conformance_books(ids:id)&conformance_books.order=id&id=eq.1',
    [{ name: 'Harbour', ids: [1, 2, 3] }],
    'spread-to-many-relationships',
  ],
  [
    'nested',
    'spread rows spread further ones',
    'conformance_publishers?select=id,...conformance_books(books:id,...conformance_stock(copies))&conformance_books.order=id&conformance_books.conformance_stock.order=copies&id=eq.1',
    [{ id: 1, books: [1, 2], copies: [[1, 3], [1]] }],
    'multiple-spreads',
  ],
  [
    'junction',
    'a junction has its own columns and those of the row beyond',
    'conformance_branches?select=name,books:conformance_stock(copies,...conformance_books(title))&books.order=copies&id=eq.2',
    [
      {
        name: 'Hill',
        books: [
          { copies: 1, title: 'Notes on the Engine' },
          { copies: 5, title: 'Disquisitiones' },
        ],
      },
    ],
    'spread-a-join-table',
  ],
]

for (const [name, promise, query, rows, anchor] of queries) {
  spread.case(name, promise, { source: `${docs}#${anchor}` }, (t) => t.get(query).is(200, rows))
}

spread.case(
  'to-many.correlated',
  'arrays of several columns are in the same order, whichever it is',
  { source: `${docs}#order-in-spread-to-many` },
  async (t) => {
    const query = 'conformance_publishers?select=...conformance_books(ids:id,titles:title)&id=eq.1'
    const response = await t.get(query)
    const rows = Array.isArray(response.json) ? (response.json as { ids: number[] }[]) : []
    const titles = new Map([
      [1, 'Notes on the Engine'],
      [2, 'Poems of Numbers'],
    ])
    const ids = rows[0]?.ids[0] === 2 ? [2, 1] : [1, 2]
    response.is(200, [{ ids, titles: ids.map((id) => titles.get(id)) }])
  },
)

spread.case(
  'empty',
  'no columns of a row are spread as none',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  (t) =>
    t.get('conformance_people?select=id,...conformance_countries()&id=eq.1').is(200, [{ id: 1 }]),
)
