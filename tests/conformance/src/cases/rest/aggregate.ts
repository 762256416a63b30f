import { group } from '../../case.ts'
import { unordered } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/aggregate_functions.html'

export const aggregate = group('rest.aggregate', {
  title: 'Aggregates',
  source: docs,
  needs: ['sql'],
  // They are off unless they are enabled.
  probe: async (t) => {
    const { status } = await t.get('conformance_numbers?select=count()')
    if (status === 400) t.absent('aggregate functions are not enabled')
  },
})

/** A query, and its rows in any order. */
const queries: [name: string, promise: string, query: string, rows: object[], anchor: string][] = [
  ['sum', 'sum adds up', 'conformance_books?select=pages.sum()', [{ sum: 1140 }], ''],
  [
    'several',
    'several aggregates have names of their own',
    'conformance_books?select=least:pages.min(),most:pages.max(),mean:pages.avg()',
    [{ least: 80, most: 640, mean: 285 }],
    '',
  ],
  [
    'filter',
    'aggregates are about the rows of the filter',
    'conformance_books?select=pages.sum()&genre=eq.science',
    [{ sum: 760 }],
    '',
  ],
  [
    'group',
    'aggregates are grouped by the other columns',
    'conformance_books?select=genre,pages.sum()&genre=neq.history',
    [
      { genre: 'science', sum: 760 },
      { genre: 'poetry', sum: 80 },
      { genre: 'novel', sum: 300 },
    ],
    '#automatic-group-by',
  ],
  [
    'count',
    'count() counts rows, and count() of a column what is not null',
    'conformance_books?select=count(),known:pages.count()',
    [{ count: 5, known: 4 }],
    '#the-count-aggregate',
  ],
  [
    'cast.column',
    'a member of JSON is cast before it is added up',
    'conformance_people?select=profile->site->visits::numeric.sum()',
    [{ sum: 19 }],
    '#casting-the-aggregated-column',
  ],
  [
    'cast.result',
    'an aggregate is cast',
    'conformance_books?select=pages.avg()::text&id=lte.2',
    [{ avg: '100.0000000000000000' }],
    '#casting-the-aggregate',
  ],
  [
    'group.embedded',
    'aggregates are grouped by an embedded row',
    'conformance_books?select=count(),conformance_publishers(name)&publisher_id=not.is.null',
    [
      { count: 2, conformance_publishers: { name: 'North Press' } },
      { count: 2, conformance_publishers: { name: 'Sud Livres' } },
    ],
    '#grouping-by-an-embedded-resource',
  ],
  [
    'group.spread',
    'aggregates are grouped by the columns of a spread row',
    'conformance_books?select=count(),...conformance_publishers(name)&publisher_id=not.is.null',
    [
      { count: 2, name: 'North Press' },
      { count: 2, name: 'Sud Livres' },
    ],
    '#grouping-by-an-embedded-resource',
  ],
  [
    'embedded',
    'embedded rows are aggregated',
    'conformance_publishers?select=name,conformance_books(pages.sum())&id=eq.1',
    [{ name: 'North Press', conformance_books: [{ sum: 200 }] }],
    '#using-aggregates-inside-embedded-resources',
  ],
  [
    'spread',
    'an aggregate in a spread row is grouped by the columns outside',
    'conformance_books?select=genre,...conformance_publishers(last:name.max())&genre=in.(novel,poetry)',
    [
      { genre: 'novel', last: 'Sud Livres' },
      { genre: 'poetry', last: 'North Press' },
    ],
    '#aggregates-in-to-one-spreads',
  ],
]

for (const [name, promise, query, rows, anchor] of queries) {
  aggregate.case(name, promise, { source: `${docs}${anchor}` }, (t) =>
    t.get(query).is(200, unordered(...rows)),
  )
}

aggregate.case(
  'spread.to-many',
  'an aggregate in spread rows is not supported',
  { source: `${docs}#aggregates-in-to-one-spreads` },
  (t) =>
    t
      .get('conformance_publishers?select=name,...conformance_books(pages.sum())')
      .has(400, { code: 'PGRST127' }),
)
