import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/pagination_count.html'

export const page = group('rest.page', {
  title: 'Order, pages and counts',
  source: docs,
  needs: ['sql'],
})

page.case(
  'limit',
  'limit and offset cut out a page',
  { source: `${docs}#limits-and-pagination` },
  (t) =>
    t
      .get('conformance_numbers?select=n&order=n&limit=2&offset=10')
      .is(200, [{ n: 11 }, { n: 12 }])
      .header('content-range', '10-11/*'),
)

page.case(
  'count.exact',
  'count=exact counts all rows of the filter, and responds with 206',
  { source: `${docs}#exact-count` },
  (t) =>
    t
      .get('conformance_numbers?select=n&even=is.true&order=n&limit=1', { prefer: 'count=exact' })
      .is(206, [{ n: 2 }])
      .header('content-range', '0-0/100'),
)

page.case(
  'count.head',
  'HEAD counts without rows',
  { source: `${docs}#exact-count` },
  async (t) => {
    const rows = t.anon.from('conformance_numbers').select('*', { count: 'exact', head: true })
    t.count(await rows.gt('n', 50), 150)
  },
)

page.case(
  'range.beyond',
  'an offset beyond the last row is refused when rows are counted',
  { source: `${docs}#limits-and-pagination` },
  (t) =>
    t.get('conformance_numbers?select=n&offset=500', { prefer: 'count=exact' }).has(416, {
      code: 'PGRST103',
      details: 'An offset of 500 was requested, but there are only 200 rows.',
    }),
)

const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'

/** Returns the header that asks for rows from one to another, both included. */
function range(value: string): { headers: Record<string, string> } {
  return { headers: { 'range-unit': 'items', range: value } }
}

page.case('range', 'the header Range asks for a page', { source: `${docs}#range-header` }, (t) =>
  t
    .get('conformance_numbers?select=n&order=n', range('10-12'))
    .is(200, [{ n: 11 }, { n: 12 }, { n: 13 }])
    .header('content-range', '10-12/*'),
)

page.case(
  'range.open',
  'a range without an end has no limit',
  { source: `${docs}#range-header` },
  (t) =>
    t
      .get('conformance_numbers?select=n&order=n', range('198-'))
      .is(200, [{ n: 199 }, { n: 200 }])
      .header('content-range', '198-199/*'),
)

page.case(
  'range.fewer',
  'a range that reaches beyond the last row has fewer rows',
  { source: `${docs}#range-header` },
  (t) =>
    t
      .get('conformance_branches?select=id&order=id', range('1-20'))
      .is(200, [{ id: 2 }, { id: 3 }])
      .header('content-range', '1-2/*'),
)

page.case(
  'range.count',
  'a range of counted rows is partial content',
  { source: `${docs}#exact-count` },
  (t) =>
    t
      .get('conformance_numbers?select=n&order=n', { ...range('0-1'), prefer: 'count=exact' })
      .is(206, [{ n: 1 }, { n: 2 }])
      .header('content-range', '0-1/200'),
)

page.case(
  'range.invalid',
  'a range that ends before it begins is refused',
  { source: `${errors}#pgrst103` },
  (t) =>
    t.get('conformance_numbers?select=n', range('5-1')).has(416, {
      code: 'PGRST103',
      message: 'Requested range not satisfiable',
    }),
)

page.case('limit.negative', 'a negative limit is refused', { source: `${errors}#pgrst103` }, (t) =>
  t.get('conformance_numbers?select=n&limit=-1').has(416, { code: 'PGRST103' }),
)

page.case(
  'limit.zero',
  'a limit of nothing has no rows',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  (t) => t.get('conformance_numbers?select=n&limit=0').is(200, []),
)

page.case(
  'offset.beyond',
  'an offset beyond the last row has no rows where they are not counted',
  { source: `${docs}#query-parameters` },
  (t) => t.get('conformance_numbers?select=n&offset=500').is(200, []),
)

page.case(
  'client',
  'range and count of the client library ask for a page and the number of all rows',
  { source: 'https://supabase.com/docs/reference/javascript/range' },
  async (t) => {
    const rows = t.anon.from('conformance_numbers').select('n', { count: 'exact' }).order('n')
    const result = await rows.range(2, 3)
    t.data(result, [{ n: 3 }, { n: 4 }])
    t.count(result, 200)
  },
)

page.case(
  'count.all',
  'counted rows that are all there get 200',
  { source: `${docs}#exact-count` },
  (t) =>
    t
      .get('conformance_branches?select=id&order=id', { prefer: 'count=exact' })
      .is(200, [{ id: 1 }, { id: 2 }, { id: 3 }])
      .header('content-range', '0-2/3'),
)

page.case('count.nothing', 'no rows are counted as none', { source: `${docs}#exact-count` }, (t) =>
  t
    .get('conformance_branches?select=id&id=eq.99', { prefer: 'count=exact' })
    .is(200, [])
    .header('content-range', '*/0'),
)

page.case(
  'count.planned',
  'count=planned tells how many rows the planner expects',
  { source: `${docs}#planned-count` },
  (t) =>
    t
      .get('conformance_numbers?select=n&order=n&limit=2', { prefer: 'count=planned' })
      .is(206, [{ n: 1 }, { n: 2 }])
      .header('content-range', /^0-1\/\d+$/),
)

page.case(
  'count.estimated',
  'count=estimated counts few rows exactly',
  { source: `${docs}#estimated-count` },
  (t) =>
    t
      .get('conformance_numbers?select=n&n=lte.123&order=n&limit=1', { prefer: 'count=estimated' })
      .is(206, [{ n: 1 }])
      .header('content-range', '0-0/123'),
)

page.case('count.view', 'the rows of a view are counted', { source: `${docs}#counting` }, (t) =>
  t
    .head('conformance_science', { prefer: 'count=exact' })
    .empty(200)
    .header('content-range', '0-1/2'),
)

page.case(
  'count.function',
  'the rows of a function are counted',
  { source: `${docs}#counting` },
  (t) =>
    t
      .get('rpc/conformance_pairs?low=1&high=9&select=n&order=n&limit=2&offset=3', {
        prefer: 'count=exact',
      })
      .is(206, [{ n: 4 }, { n: 5 }])
      .header('content-range', '3-4/9'),
)
