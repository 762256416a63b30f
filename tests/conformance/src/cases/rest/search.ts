import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/tables_views.html'

export const search = group('rest.search', {
  title: 'Full-text search',
  source: `${docs}#full-text-search`,
  needs: ['sql'],
})

/** A search among books, and the ids of those that it finds. */
const ofBooks: [name: string, promise: string, column: string, value: string, ids: number[]][] = [
  [
    'operators',
    'fts takes the operators of to_tsquery',
    'search',
    'fts(english).pattern & !engine',
    [4],
  ],
  ['prefix', 'fts finds beginnings of words', 'search', 'fts(english).algebr:*', [1]],
  ['plain', 'plfts finds all words of a text', 'search', 'plfts(english).numbers poems', [2]],
  [
    'phrase',
    'phfts finds words that follow one another',
    'search',
    'phfts(english).patterns of numbers',
    [4],
  ],
  [
    'phrase.order',
    'phfts looks at the order of words',
    'search',
    'phfts(english).numbers patterns',
    [],
  ],
  [
    'web',
    'wfts takes what people type into a search box',
    'search',
    'wfts(english).numbers -poems',
    [4],
  ],
  ['web.or', 'wfts takes or', 'search', 'wfts(english).wager or engine', [1, 3]],
  [
    'not',
    'not turns a search round',
    'search',
    'not.phfts(english).patterns of numbers',
    [1, 2, 3, 5],
  ],
]

/** The same on columns that are no tsvector. */
const converted: typeof ofBooks = [
  [
    'text',
    'text is converted by to_tsvector in the language given',
    'abstract',
    'fts(english).number',
    [2, 4],
  ],
  [
    'text.language',
    'the language decides on the forms of a word',
    'abstract',
    'fts(simple).number',
    [],
  ],
]

for (const [cases, source] of [
  [ofBooks, `${docs}#full-text-search`],
  [converted, `${docs}#automatic-tsvector-conversion`],
] as const) {
  for (const [name, promise, column, value, ids] of cases) {
    search.case(name, promise, { source }, (t) =>
      t.get(`conformance_books?select=id&order=id&${column}=${encodeURIComponent(value)}`).is(
        200,
        ids.map((id) => ({ id })),
      ),
    )
  }
}

search.case(
  'json',
  'JSON is converted by to_tsvector',
  { source: `${docs}#automatic-tsvector-conversion` },
  (t) =>
    t
      .get('conformance_people?select=id&order=id&profile=fts(simple).fr')
      .is(200, [{ id: 1 }, { id: 2 }]),
)

search.case(
  'client',
  'textSearch of the client library searches in a language',
  { source: 'https://supabase.com/docs/reference/javascript/textsearch' },
  async (t) => {
    const rows = t.anon.from('conformance_books').select('id').order('id')
    const found = await rows.textSearch('search', 'counting', { type: 'plain', config: 'english' })
    t.data(found, [{ id: 2 }])
  },
)
