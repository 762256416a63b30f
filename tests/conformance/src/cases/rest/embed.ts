import { group } from '../../case.ts'
import { unordered } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/resource_embedding.html'

export const embed = group('rest.embed', {
  title: 'Related rows',
  source: docs,
  needs: ['sql'],
})

embed.case(
  'many-to-one',
  'a foreign key embeds the row that it refers to',
  { source: `${docs}#many-to-one-relationships` },
  (t) =>
    t
      .get('conformance_people?select=name,conformance_countries(name)&id=eq.1')
      .is(200, [{ name: 'Ada', conformance_countries: { name: 'United Kingdom' } }]),
)

embed.case(
  'one-to-many',
  'rows that refer to a row are embedded as an array',
  { source: `${docs}#one-to-many-relationships` },
  async (t) => {
    const rows = t.anon.from('conformance_publishers').select('name,conformance_books(id)')
    t.data(await rows.eq('id', 1), [
      { name: 'North Press', conformance_books: [{ id: 1 }, { id: 2 }] },
    ])
  },
)

embed.case(
  'one-to-one',
  'a foreign key that is unique embeds an object from both sides',
  { source: `${docs}#one-to-one-relationships` },
  (t) =>
    t
      .get('conformance_people?select=id,conformance_biographies(words)&id=in.(1,3)&order=id')
      .is(200, [
        { id: 1, conformance_biographies: { words: 3 } },
        { id: 3, conformance_biographies: null },
      ]),
)

embed.case(
  'many-to-many',
  'a junction embeds the rows on its other side',
  { source: `${docs}#many-to-many-relationships` },
  (t) =>
    t
      .get(
        'conformance_branches?select=name,conformance_books(id)&id=eq.2&conformance_books.order=id',
      )
      .is(200, [{ name: 'Hill', conformance_books: [{ id: 1 }, { id: 4 }] }]),
)

embed.case(
  'hint',
  'the name of a foreign key tells two relationships apart',
  { source: `${docs}#foreign-key-joins-on-multiple-foreign-key-relationships` },
  (t) =>
    t
      .get(
        'conformance_books?select=author:conformance_people!conformance_books_author(name),editor:conformance_people!editor_id(name)&id=eq.3',
      )
      .is(200, [{ author: { name: 'Blaise' }, editor: { name: 'Ada' } }]),
)

embed.case('ambiguous', 'an embed that could be two is refused with the candidates', (t) =>
  t.get('conformance_books?select=id,conformance_people(name)').has(300, { code: 'PGRST201' }),
)

embed.case(
  'inner',
  '!inner drops rows without the embedded row',
  { source: `${docs}#top-level-filtering` },
  (t) =>
    t
      .get(
        'conformance_people?select=id,conformance_countries!inner(name)&conformance_countries.name=eq.France&order=id',
      )
      .is(200, [
        { id: 2, conformance_countries: { name: 'France' } },
        { id: 5, conformance_countries: { name: 'France' } },
      ]),
)

const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'

/** Queries, the rows that they return, and where the documentation says so. */
const queries: [name: string, promise: string, query: string, rows: unknown[], anchor: string][] = [
  [
    'alias',
    'an embedded row has a name of its own',
    'conformance_people?select=id,home:conformance_countries(code)&id=eq.3',
    [{ id: 3, home: { code: 'DE' } }],
    'many-to-one-relationships',
  ],
  [
    'many-to-one.null',
    'a foreign key that is null embeds null',
    'conformance_people?select=id,conformance_countries(name)&id=eq.6',
    [{ id: 6, conformance_countries: null }],
    'many-to-one-relationships',
  ],
  [
    'one-to-many.none',
    'no rows are embedded as an empty array',
    'conformance_publishers?select=id,conformance_books(id)&id=eq.3',
    [{ id: 3, conformance_books: [] }],
    'one-to-many-relationships',
  ],
  [
    'composite-key',
    'a foreign key of two columns embeds the row that it refers to',
    'conformance_loans?select=reader,conformance_stock(copies)&id=eq.3',
    [{ reader: 'Rita', conformance_stock: { copies: 5 } }],
    'foreign-key-joins',
  ],
  [
    'composite-key.inverse',
    'rows that refer by two columns are embedded',
    'conformance_stock?select=copies,conformance_loans(id)&branch_id=eq.1&book_id=eq.1',
    [{ copies: 3, conformance_loans: unordered({ id: 1 }, { id: 2 }) }],
    'foreign-key-joins',
  ],
  [
    'nested',
    'embedded rows embed further ones',
    'conformance_publishers?select=name,conformance_books(id,conformance_branches(name))&id=eq.2&conformance_books.id=eq.3',
    [
      {
        name: 'Sud Livres',
        conformance_books: [{ id: 3, conformance_branches: [{ name: 'Harbour' }] }],
      },
    ],
    'nested-embedding',
  ],
  [
    'computed.to-many',
    'a function of the row that returns rows embeds them',
    'conformance_people?select=name,conformance_fans(id)&id=eq.1',
    [{ name: 'Ada', conformance_fans: unordered({ id: 2 }, { id: 3 }) }],
    'computed-relationships',
  ],
  [
    'computed.to-one',
    'a function of the row that is declared to return one embeds an object',
    'conformance_people?select=id,conformance_first_book(title)&id=in.(1,4)&order=id',
    [
      { id: 1, conformance_first_book: { title: 'Notes on the Engine' } },
      { id: 4, conformance_first_book: null },
    ],
    'computed-relationships',
  ],
  [
    'computed.overrides',
    'a function that is named as the other table takes the place of the foreign key',
    'conformance_novels?select=publisher_id,conformance_publishers(name)',
    [{ publisher_id: 2, conformance_publishers: { name: 'Leer' } }],
    'overriding-relationships',
  ],
  [
    'recursive',
    'functions embed rows of the table itself, in both directions',
    'conformance_people?select=id,conformance_mentor(id),conformance_fans(id)&id=eq.3',
    [{ id: 3, conformance_mentor: { id: 1 }, conformance_fans: [{ id: 4 }] }],
    'recursive-relationships',
  ],
  [
    'hint.one-to-many',
    'the name of a foreign key tells two relationships of many rows apart',
    'conformance_people?select=written:conformance_books!conformance_books_author(id),edited:conformance_books!conformance_books_editor_id_fkey(id)&id=eq.1',
    [{ written: unordered({ id: 1 }, { id: 2 }), edited: [{ id: 3 }] }],
    'multiple-one-to-many',
  ],
  [
    'view',
    'a view embeds by the foreign keys of its tables',
    'conformance_science?select=id,conformance_people(name)&id=eq.4',
    [{ id: 4, conformance_people: { name: 'Carl' } }],
    'foreign-key-joins-on-views',
  ],
  [
    'view.chain',
    'a view of a view embeds by the foreign keys of their tables',
    'conformance_long_science?select=id,conformance_people(name)',
    [{ id: 4, conformance_people: { name: 'Carl' } }],
    'foreign-key-joins-on-chains-of-views',
  ],
  [
    'view.materialized',
    'a materialized view embeds by the foreign keys of its tables',
    'conformance_page_sums?select=pages,conformance_people(name)&author_id=eq.3',
    [{ pages: 640, conformance_people: { name: 'Carl' } }],
    'foreign-key-joins-on-views',
  ],
  [
    'partitioned',
    'a partitioned table embeds by its foreign keys',
    'conformance_visits?select=visitors,conformance_branches(name)&branch_id=eq.2',
    [{ visitors: 7, conformance_branches: { name: 'Hill' } }],
    'foreign-key-joins-on-partitioned-tables',
  ],
  [
    'function',
    'the rows of a function embed as the rows of their table do',
    'rpc/conformance_writers?in_country=GB&select=name,conformance_countries(name)',
    [{ name: 'Ada', conformance_countries: { name: 'United Kingdom' } }],
    'foreign-key-joins-on-table-valued-functions',
  ],
]

for (const [name, promise, query, rows, anchor] of queries) {
  embed.case(name, promise, { source: `${docs}#${anchor}` }, (t) => t.get(query).is(200, rows))
}

embed.case(
  'hint.junction',
  'the name of a junction chooses the relationship through it',
  {
    source: 'https://github.com/PostgREST/postgrest/blob/main/src/library/PostgREST/Error.hs',
  },
  async (t) => {
    const rows = t.anon
      .from('conformance_branches')
      .select('conformance_books!conformance_stock(id)')
    t.data(await rows.eq('id', 2), [{ conformance_books: unordered({ id: 1 }, { id: 4 }) }])
  },
)

embed.case(
  'ambiguous.candidates',
  'the candidates of an ambiguous embed are told with their keys',
  { source: `${docs}#multiple-many-to-one` },
  (t) =>
    t.get('conformance_books?select=id,conformance_people(name)').has(300, {
      message:
        "Could not embed because more than one relationship was found for 'conformance_books' and 'conformance_people'",
      details: unordered(
        {
          cardinality: 'many-to-one',
          embedding: 'conformance_books with conformance_people',
          relationship:
            'conformance_books_author using conformance_books(author_id) and conformance_people(id)',
        },
        {
          cardinality: 'many-to-one',
          embedding: 'conformance_books with conformance_people',
          relationship:
            'conformance_books_editor_id_fkey using conformance_books(editor_id) and conformance_people(id)',
        },
      ),
      hint: /^Try changing 'conformance_people' to one of the following: .*'conformance_people!conformance_books_author'/,
    }),
)

embed.case(
  'unrelated',
  'an embed without a relationship is refused',
  { source: `${errors}#pgrst200` },
  (t) =>
    t.get('conformance_people?select=id,conformance_numbers(n)').has(400, {
      code: 'PGRST200',
      message:
        "Could not find a relationship between 'conformance_people' and 'conformance_numbers' in the schema cache",
    }),
)

embed.case(
  'inner.to-many',
  '!inner keeps rows with at least one embedded row',
  { source: `${docs}#top-level-filtering` },
  async (t) => {
    const rows = t.anon.from('conformance_publishers').select('id,conformance_books!inner(id)')
    t.data(await rows.gt('conformance_books.pages', 100).order('id'), [
      { id: 1, conformance_books: [{ id: 1 }] },
      { id: 2, conformance_books: [{ id: 3 }] },
    ])
  },
)

embed.case(
  'inner.nested',
  '!inner at each level keeps rows with a deeper row',
  { source: `${docs}#top-level-filtering` },
  (t) =>
    t
      .get(
        'conformance_countries?select=code,conformance_publishers!inner(id,conformance_books!inner(id))&conformance_publishers.conformance_books.genre=eq.novel',
      )
      .is(200, [
        { code: 'FR', conformance_publishers: [{ id: 2, conformance_books: [{ id: 3 }] }] },
      ]),
)

embed.case(
  'one-to-one.composite-key',
  'a foreign key that is the primary key embeds an object, whatever the order of its columns',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  (t) =>
    t
      .get(
        'conformance_stock?select=copies,conformance_labels(label)&branch_id=eq.1&order=book_id.desc&limit=2',
      )
      .is(200, [
        { copies: 2, conformance_labels: { label: 'left shelf' } },
        { copies: 1, conformance_labels: null },
      ]),
)
