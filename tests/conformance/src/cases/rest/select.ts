import { group } from '../../case.ts'
import { partly, some } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/tables_views.html'

export const select = group('rest.select', {
  title: 'Columns of rows',
  source: `${docs}#vertical-filtering`,
  needs: ['sql'],
})

select.case('columns', 'only the columns that are named are returned', (t) =>
  t
    .get('conformance_countries?select=code,population&code=eq.DE')
    .is(200, [{ code: 'DE', population: 83200000 }]),
)

select.case(
  'rename',
  'a column is returned under another name',
  { source: `${docs}#renaming-columns` },
  (t) => t.get('conformance_people?select=who:name&id=eq.1').is(200, [{ who: 'Ada' }]),
)

select.case('cast', 'a column is cast', { source: `${docs}#casting-columns` }, (t) =>
  t.get('conformance_people?select=id::text&id=eq.1').is(200, [{ id: '1' }]),
)

select.case(
  'json',
  'members of a JSON column are columns',
  { source: `${docs}#json-columns` },
  async (t) => {
    const rows = t.anon
      .from('conformance_people')
      .select('profile->langs->>0, url:profile->site->>url')
    t.data(await rows.eq('id', 1), [{ langs: 'en', url: 'https://ada.example' }])
  },
)

const computed = 'https://docs.postgrest.org/en/stable/references/api/computed_fields.html'

select.case('computed', 'a function of the row is a column', { source: computed }, (t) =>
  t
    .get('conformance_people?select=conformance_initial&id=eq.2')
    .is(200, [{ conformance_initial: 'B' }]),
)

select.case(
  'computed.default',
  'a computed field is not there unless it is asked for',
  { source: `${computed}#vertical-filtering-on-computed-fields` },
  (t) =>
    t.get('conformance_people?id=eq.6').is(200, [
      {
        id: 6,
        name: 'snorri_100%',
        born: '1179-01-01',
        country: null,
        mentor_id: null,
        score: 0,
        height: 1.9,
        active: false,
        tags: ['history'],
        address: null,
        profile: { langs: null },
        created_at: some.time,
      },
    ]),
)

/** Columns of the first writer. */
const ofAda: [name: string, promise: string, columns: string, row: object, anchor: string][] = [
  [
    'star',
    'a star is all columns, with others beside',
    '*,who:name',
    partly({ id: 1, name: 'Ada', who: 'Ada' }),
    'vertical-filtering',
  ],
  ['cast.renamed', 'a column is renamed and cast', 'n:score::int', { n: 10 }, 'casting-columns'],
  [
    'json.object',
    '-> returns JSON',
    'profile->site',
    { site: { url: 'https://ada.example', visits: 7 } },
    'json-columns',
  ],
  ['json.number', '->> returns text', 'profile->site->>visits', { visits: '7' }, 'json-columns'],
  [
    'json.negative',
    'a negative index counts from the end of a JSON array',
    'last:profile->langs->-1',
    { last: 'fr' },
    'json-columns',
  ],
  [
    'json.missing',
    'a member that is not there is null',
    'profile->nowhere->deeper',
    { deeper: null },
    'json-columns',
  ],
  [
    'json.cast',
    'a member of a JSON column is cast',
    'visits:profile->site->>visits::int',
    { visits: 7 },
    'casting-columns',
  ],
  [
    'composite',
    'a field of a composite column is a column',
    'address->>city,address->zip',
    { city: 'London', zip: 1000 },
    'composite-array-columns',
  ],
  [
    'element',
    'an element of an array is a column',
    'first:tags->0,tags->>1',
    partly({ first: 'math' }),
    'composite-array-columns',
  ],
]

for (const [name, promise, columns, row, anchor] of ofAda) {
  select.case(name, promise, { source: `${docs}#${anchor}` }, (t) =>
    t.get(`conformance_people?id=eq.1&select=${encodeURIComponent(columns)}`).is(200, [row]),
  )
}

select.case(
  'grid',
  'an element of an array of arrays is a column',
  {
    source:
      'https://docs.postgrest.org/en/stable/how-tos/working-with-postgresql-data-types.html#multidimensional-arrays',
  },
  (t) =>
    t
      .get('conformance_types?id=eq.1&select=row:grid->1,cell:grid->1->0')
      .is(200, [{ row: [3, 4], cell: 3 }]),
)

const grammar = 'https://docs.postgrest.org/en/stable/references/api/url_grammar.html'

select.case(
  'quoted',
  'columns with reserved characters are quoted',
  { source: `${grammar}#reserved-chars` },
  async (t) => {
    const rows = t.anon.from('conformance_Quoted name').select('"Two Words","ünï,(code)",select')
    t.data(await rows.eq('id', 1), [{ 'Two Words': 'one', 'ünï,(code)': 'a', select: 'x' }])
  },
)

const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'

select.case(
  'unknown-column',
  'a column that is not there is refused',
  { source: `${errors}#http-status-codes` },
  (t) => t.get('conformance_people?select=nowhere').has(400, { code: '42703' }),
)

select.case(
  'unknown-type',
  'a cast to a type that is not there is refused',
  { source: `${errors}#http-status-codes` },
  (t) => t.get('conformance_people?select=id::nothing').has(400, { code: '42704' }),
)

select.case(
  'syntax',
  'columns that cannot be read are refused',
  { source: `${errors}#pgrst100` },
  (t) => t.get('conformance_people?select=id,(').has(400, { code: 'PGRST100' }),
)
