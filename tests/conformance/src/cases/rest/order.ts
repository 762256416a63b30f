import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/tables_views.html'
const embedding = 'https://docs.postgrest.org/en/stable/references/api/resource_embedding.html'

export const order = group('rest.order', {
  title: 'The order of rows',
  source: `${docs}#ordering`,
  needs: ['sql'],
})

/** An order of people, and their ids in it. */
const ofPeople: [name: string, promise: string, query: string, ids: number[], source?: string][] = [
  ['ascending', 'without a direction the order is ascending', 'order=born', [6, 2, 5, 3, 1, 4]],
  ['descending', 'desc turns the order round', 'order=id.desc', [6, 5, 4, 3, 2, 1]],
  ['nulls-first', 'nullsfirst sorts nulls first', 'order=born.nullsfirst', [4, 6, 2, 5, 3, 1]],
  ['nulls-last', 'nullslast sorts nulls last', 'order=born.desc.nullslast', [1, 3, 5, 2, 6, 4]],
  [
    'several',
    'a further column decides between equals',
    'order=country.asc.nullslast,id.desc',
    [4, 3, 5, 2, 1, 6],
  ],
  [
    'json',
    'a member of a JSON column orders',
    'order=profile->site->visits.desc.nullslast,id',
    [3, 1, 5, 2, 4, 6],
    `${docs}#json-columns`,
  ],
  [
    'composite',
    'a field of a composite column orders',
    'order=address->>city.asc.nullslast,id',
    [4, 1, 2, 3, 5, 6],
  ],
  [
    'element',
    'an element of an array column orders',
    'order=tags->>0.desc.nullslast,id.desc&id=in.(1,2,6)',
    [2, 1, 6],
  ],
  [
    'computed',
    'a computed field orders',
    'order=conformance_initial.desc&id=in.(1,2,3)',
    [3, 2, 1],
    'https://docs.postgrest.org/en/stable/references/api/computed_fields.html#ordering-on-computed-fields',
  ],
]

for (const [name, promise, query, ids, source = `${docs}#ordering`] of ofPeople) {
  order.case(name, promise, { source }, (t) =>
    t.get(`conformance_people?select=id&${query}`).is(
      200,
      ids.map((id) => ({ id })),
    ),
  )
}

order.case(
  'embedded-column',
  'a column of an embedded row orders the rows',
  { source: `${embedding}#top-level-ordering` },
  (t) =>
    t
      .get(
        'conformance_people?select=id,conformance_countries()&order=conformance_countries(name).desc,id&country=not.is.null',
      )
      .is(200, [{ id: 1 }, { id: 3 }, { id: 4 }, { id: 2 }, { id: 5 }]),
)

order.case(
  'embedded-column.nulls',
  'nullsfirst holds for a column of an embedded row',
  { source: `${embedding}#top-level-ordering` },
  (t) =>
    t
      .get(
        'conformance_books?select=id,publisher:conformance_publishers()&order=publisher(name).desc.nullsfirst,id',
      )
      .is(200, [{ id: 4 }, { id: 3 }, { id: 5 }, { id: 1 }, { id: 2 }]),
)

order.case(
  'embedded-column.to-many',
  'rows that may be several do not order',
  { source: 'https://docs.postgrest.org/en/stable/references/errors.html#pgrst118' },
  (t) =>
    t
      .get('conformance_publishers?select=id,conformance_books(id)&order=conformance_books(title)')
      .has(400, { code: 'PGRST118' }),
)

order.case('client', 'order of the client library sets direction and place of nulls', async (t) => {
  const rows = t.anon.from('conformance_people').select('id').in('id', [1, 2, 4])
  t.data(await rows.order('born', { ascending: false, nullsFirst: false }), [
    { id: 1 },
    { id: 2 },
    { id: 4 },
  ])
})

order.case(
  'direction',
  'a direction that is none is refused',
  { source: 'https://docs.postgrest.org/en/stable/references/errors.html#pgrst100' },
  (t) => t.get('conformance_people?order=id.upwards').has(400, { code: 'PGRST100' }),
)
