import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/tables_views.html'

export const logic = group('rest.logic', {
  title: 'Conditions joined by and, or and not',
  source: `${docs}#logical-operators`,
  needs: ['sql'],
})

/** A condition on people, and the ids of those that meet it. */
const ofPeople: [name: string, promise: string, parameter: string, value: string, ids: number[]][] =
  [
    ['and', 'and keeps rows that meet all conditions', 'and', '(id.gt.1,id.lt.4)', [2, 3]],
    [
      'not-or',
      'not.or drops rows that meet a condition',
      'not.or',
      '(id.eq.1,id.eq.2)',
      [3, 4, 5, 6],
    ],
    [
      'not-and',
      'not.and keeps rows that miss a condition',
      'not.and',
      '(id.gte.2,id.lte.5)',
      [1, 6],
    ],
    [
      'nested',
      'conditions are nested, and turned round within',
      'or',
      '(and(id.gt.4,or(country.eq.FR,score.eq.9)),not.and(id.gte.2,country.not.eq.DE),id.eq.6)',
      [1, 3, 4, 5, 6],
    ],
    [
      'quoted',
      'a value with reserved characters is quoted',
      'or',
      '(name.eq."Émilie (du) \\"Ch,telet\\"",id.eq.1)',
      [1, 5],
    ],
    ['in', 'a list is a value of a condition', 'or', '(id.in.(1,2),name.eq.Carl)', [1, 2, 3]],
    [
      'array',
      'an array is a value of a condition',
      'or',
      '(tags.cs.{math,poetry},id.eq.6)',
      [1, 6],
    ],
    [
      'json',
      'a JSON path is a column of a condition',
      'or',
      '(profile->>site.is.null,id.eq.1)',
      [1, 2, 4, 6],
    ],
    [
      'modifiers',
      'any and all modify operators of conditions',
      'or',
      '(id.eq(any).{1,2},name.like(all).{C*,*l})',
      [1, 2, 3],
    ],
  ]

for (const [name, promise, parameter, value, ids] of ofPeople) {
  logic.case(name, promise, (t) =>
    t.get(`conformance_people?select=id&order=id&${parameter}=${encodeURIComponent(value)}`).is(
      200,
      ids.map((id) => ({ id })),
    ),
  )
}

logic.case('range', 'a range is quoted in a condition', (t) => {
  const value = '(printed.adj."[1844-01-01,1860-01-01)",printed.cs."[1670-01-01,1670-02-01)")'
  return t
    .get(`conformance_books?select=id&order=id&or=${encodeURIComponent(value)}`)
    .is(200, [{ id: 1 }, { id: 3 }, { id: 5 }])
})

logic.case(
  'fts',
  'a full-text query with a language is a condition',
  { source: `${docs}#full-text-search` },
  async (t) => {
    const rows = t.anon.from('conformance_books').select('id').order('id')
    t.data(await rows.or('search.fts(english).wager,id.eq.5'), [{ id: 3 }, { id: 5 }])
  },
)

logic.case('with-filters', 'conditions and filters hold together', async (t) => {
  const rows = t.anon.from('conformance_people').select('id').order('id')
  t.data(await rows.gte('score', 0).is('active', true).or('id.eq.2,not.and(id.gte.2,id.lte.6)'), [
    { id: 1 },
    { id: 2 },
  ])
})
