import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/how-tos/working-with-postgresql-data-types.html'

export const type = group('rest.type', {
  title: 'Types of columns',
  source: docs,
  needs: ['sql', 'service'],
})

/** Columns of one row, and how JSON shows them. */
const representations: [
  name: string,
  promise: string,
  row: Record<string, unknown>,
  anchor?: string,
][] = [
  ['array', 'arrays are arrays', { ints: [1, null, 3], texts: ['a b', 'c,d', ''] }, 'arrays'],
  [
    'grid',
    'arrays of arrays are arrays of arrays',
    {
      grid: [
        [1, 2],
        [3, 4],
      ],
    },
    'multidimensional-arrays',
  ],
  ['bytes', 'bytes are the hexadecimal text of Postgres', { bytes: '\\x00ff10' }, 'bytea'],
  [
    'composite',
    'a composite value is an object',
    { composite: { street: 'Main St', city: 'Springfield', zip: 12345 } },
    'composite-types',
  ],
  ['enum', 'a value of an enumeration is text', { enum_: 'poetry' }, 'enums'],
  [
    'json',
    'JSON is itself',
    { json_: { b: 1, a: [1, null] }, jsonb_: { b: 1, a: [1, null] } },
    'json',
  ],
  [
    'range',
    'ranges are the text of Postgres',
    { int_range: '[1,10)', num_range: '(0.5,1.5]' },
    'ranges',
  ],
  ['date', 'dates and times are the text of ISO 8601', { date_: '2024-02-29', time_: '13:14:15' }],
  ['truth', 'truth values are truth values', { bool_: true }],
  ['number', 'numbers are numbers', { small: 32767, real_: 1.5, double_: 0.1 }],
]

for (const [name, promise, row, anchor] of representations) {
  const source = anchor === undefined ? docs : `${docs}#${anchor}`
  type.case(`${name}.shown`, promise, { source }, (t) =>
    t.get(`conformance_types?select=${Object.keys(row).join(',')}&id=eq.1`).is(200, [row]),
  )
}

type.case('number.digits', 'numbers keep all their digits', (t) =>
  t
    .get('conformance_types?select=big,exact&id=eq.1')
    .text(200, /"big":\s*9007199254740993,\s*"exact":\s*12345678901234567890\.123\s*\}/),
)

/** What a new row is sent with, and what is stored. */
const taken: [name: string, promise: string, sent: object, stored: object, anchor: string][] = [
  [
    'array.literal',
    'an array is taken as the text of Postgres',
    { tags: '{a,"b c"}' },
    { tags: ['a', 'b c'] },
    'arrays',
  ],
  [
    'array.json',
    'an array is taken as an array',
    { tags: ['a', 'b,c'] },
    { tags: ['a', 'b,c'] },
    'arrays',
  ],
  [
    'composite.literal',
    'a composite value is taken as the text of Postgres',
    { place: '("Rue, 1",Paris,75005)' },
    { place: { street: 'Rue, 1', city: 'Paris', zip: 75005 } },
    'composite-types',
  ],
  [
    'composite.json',
    'a composite value is taken as an object',
    { place: { street: null, city: 'Paris', zip: 1 } },
    { place: { street: null, city: 'Paris', zip: 1 } },
    'composite-types',
  ],
  [
    'enum',
    'a value of an enumeration is taken as text',
    { mood: 'history' },
    { mood: 'history' },
    'enums',
  ],
  [
    'json',
    'JSON is taken as it is',
    { data: { a: [1, { b: null }] } },
    { data: { a: [1, { b: null }] } },
    'json',
  ],
  [
    'range',
    'a range is taken as the text of Postgres',
    { during: '[1,5]' },
    { during: '[1,6)' },
    'ranges',
  ],
  [
    'bytes',
    'bytes are taken as the hexadecimal text of Postgres',
    { bytes: '\\x0aff' },
    { bytes: '\\x0aff' },
    'bytea',
  ],
  [
    'time',
    'points in time are taken with words of Postgres',
    { made_at: 'epoch' },
    { made_at: '1970-01-01T00:00:00+00:00' },
    'timestamps',
  ],
]

for (const [name, promise, sent, stored, anchor] of taken) {
  type.case(`${name}.taken`, promise, { source: `${docs}#${anchor}` }, async (t) => {
    const key = t.unique('type')
    t.removesRows('conformance_notes', 'key', key)
    const columns = Object.keys(stored).join(',')
    await t
      .post(
        `conformance_notes?select=${columns}`,
        { key, ...sent },
        {
          prefer: 'return=representation, timezone=UTC',
        },
      )
      .is(201, [stored])
  })
}
