import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/preferences.html'
const source = 'https://github.com/PostgREST/postgrest/blob/main/src/library/PostgREST'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'

export const prefer = group('rest.prefer', {
  title: 'What a client prefers',
  source: docs,
  needs: ['sql', 'service'],
})

/** How much an insert returns, and that it says so. */
const returns: [name: string, promise: string, anchor: string][] = [
  ['minimal', 'return=minimal is applied to an insert', 'minimal'],
  ['headers-only', 'return=headers-only is applied to an insert', 'headers-only'],
  ['representation', 'return=representation is applied to an insert', 'full'],
]

for (const [name, promise, anchor] of returns) {
  prefer.case(`return.${name}`, promise, { source: `${docs}#${anchor}` }, async (t) => {
    const key = t.unique('return')
    t.removesRows('conformance_notes', 'key', key)
    const response = await t.post(
      'conformance_notes?select=key',
      { key },
      { prefer: `return=${name}` },
    )
    response.header('preference-applied', `return=${name}`)
    if (name === 'representation') response.is(201, [{ key }])
    else response.empty(201)
    response.header(
      'location',
      name === 'headers-only' ? /^\/conformance_notes\?id=eq\.\d+$/ : null,
    )
  })
}

prefer.case(
  'return.first',
  'of a preference that is sent twice the first is applied',
  { source: 'https://www.rfc-editor.org/rfc/rfc7240.html#section-2' },
  async (t) => {
    const key = t.unique('first')
    t.removesRows('conformance_notes', 'key', key)
    await t
      .post('conformance_notes', { key }, { prefer: 'return=minimal, return=representation' })
      .empty(201)
      .header('preference-applied', 'return=minimal')
  },
)

prefer.case(
  'count',
  'a count is said to be applied',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  (t) =>
    t
      .get('conformance_branches?select=id&id=eq.1', { prefer: 'count=exact' })
      .is(200, [{ id: 1 }])
      .header('preference-applied', 'count=exact'),
)

prefer.case(
  'several',
  'everything that is applied is listed in the order of kinds',
  { source: `${source}/ApiRequest/Preferences.hs` },
  async (t) => {
    const key = t.unique('several')
    t.removesRows('conformance_strict', 'key', key)
    const wanted =
      'timezone=UTC, handling=strict, count=exact, return=representation, missing=default, resolution=merge-duplicates'
    await t
      .post(
        'conformance_strict?columns=key,amount&select=key',
        { key, amount: 1 },
        { prefer: wanted },
      )
      .is(201, [{ key }])
      .header('preference-applied', wanted.split(', ').reverse().join(', '))
  },
)

prefer.case(
  'strict',
  'unknown preferences are refused by their names where handling is strict',
  { source: `${docs}#strict-or-lenient-handling` },
  (t) =>
    t.get('conformance_branches', { prefer: 'handling=strict, foo, bar=baz' }).is(400, {
      code: 'PGRST122',
      message: 'Invalid preferences given with handling=strict',
      details: 'Invalid preferences: foo, bar=baz',
      hint: null,
    }),
)

prefer.case(
  'lenient',
  'unknown preferences are ignored where handling is lenient',
  { source: `${docs}#strict-or-lenient-handling` },
  (t) =>
    t
      .get('conformance_branches?id=eq.3', { prefer: 'handling=lenient, foo, bar' })
      .is(200, [{ id: 3, name: 'Empty' }]),
)

prefer.case(
  'lenient.default',
  'unknown preferences are ignored without a word about handling',
  { source: `${docs}#strict-or-lenient-handling` },
  (t) =>
    t
      .get('conformance_branches?id=eq.2', { prefer: 'foo, bar' })
      .is(200, [{ id: 2, name: 'Hill' }])
      .header('preference-applied', null),
)

prefer.case(
  'timezone',
  'times are shown in the zone of a place',
  { source: `${docs}#timezone` },
  (t) =>
    t
      .get('conformance_types?select=timestamptz_&id=eq.1', {
        prefer: 'timezone=America/Los_Angeles',
      })
      .is(200, [{ timestamptz_: '2024-02-29T03:14:15.5-08:00' }])
      .header('preference-applied', 'timezone=America/Los_Angeles'),
)

prefer.case(
  'timezone.offset',
  'times are shown at an offset of hours and minutes',
  { source: `${docs}#timezone` },
  (t) =>
    // The page shows it east of Greenwich. Postgres, which PostgREST hands it to as it is, counts to the west.
    t
      .get('conformance_types?select=timestamptz_&id=eq.1', { prefer: 'timezone=05:30' })
      .is(200, [{ timestamptz_: /^2024-02-29T(16:44:15\.5\+05:30|05:44:15\.5-05:30)$/ }])
      .header('preference-applied', 'timezone=05:30'),
)

prefer.case(
  'timezone.hours',
  'times are shown at an offset of hours',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  (t) =>
    t
      .get('conformance_types?select=timestamptz_&id=eq.1', { prefer: 'timezone=-4' })
      .is(200, [{ timestamptz_: '2024-02-29T07:14:15.5-04:00' }])
      .header('preference-applied', 'timezone=-4'),
)

prefer.case(
  'timezone.invalid',
  'a zone that is none is refused, even where handling is lenient',
  { source: `${docs}#timezone` },
  (t) =>
    t
      .get('conformance_types?select=id', { prefer: 'handling=lenient, timezone=Jupiter/Red_Spot' })
      .has(400, { code: '22023' }),
)

const maximum = `${docs}#max-affected`

for (const [name, method] of [
  ['update', 'PATCH'],
  ['delete', 'DELETE'],
] as const) {
  prefer.case(
    `max-affected.${name}`,
    `${method} of more rows than at most preferred is refused, and changes nothing`,
    { source: maximum },
    async (t) => {
      const [one, other] = [t.unique('one'), t.unique('other')]
      await t.rows('conformance_notes', [{ key: one }, { key: other }], 'key')
      await t
        .http(method, `conformance_notes?key=in.(${one},${other})`, {
          prefer: 'handling=strict, max-affected=1',
          ...(method === 'PATCH' ? { body: { body: 'new' } } : {}),
        })
        .is(400, {
          code: 'PGRST124',
          message: 'Query result exceeds max-affected preference constraint',
          details: 'The query affects 2 rows',
          hint: null,
        })
      await t
        .get(`conformance_notes?select=body&key=in.(${one},${other})`)
        .is(200, [{ body: 'empty' }, { body: 'empty' }])
    },
  )
}

prefer.case(
  'max-affected.within',
  'a change of no more rows than at most preferred is made',
  { source: maximum },
  async (t) => {
    const key = t.unique('within')
    await t.rows('conformance_notes', [{ key }], 'key')
    const applied = 'return=representation, handling=strict, max-affected=1'
    await t
      .patch(`conformance_notes?key=eq.${key}&select=body`, { body: 'new' }, { prefer: applied })
      .is(200, [{ body: 'new' }])
  },
)

prefer.case(
  'max-affected.lenient',
  'the limit of changed rows is ignored unless handling is strict',
  { source: maximum },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    await t.rows('conformance_notes', [{ key: one }, { key: other }], 'key')
    const query = `conformance_notes?key=in.(${one},${other})&select=body`
    await t
      .patch(query, { body: 'new' }, { prefer: 'max-affected=1, return=representation' })
      .is(200, [{ body: 'new' }, { body: 'new' }])
  },
)

prefer.case(
  'max-affected.function',
  'a function that returns more rows than at most preferred is undone',
  { source: maximum },
  async (t) => {
    const [one, other, body] = [t.unique('one'), t.unique('other'), t.unique('body')]
    const rows = [
      { key: one, body },
      { key: other, body },
    ]
    await t.rows('conformance_notes', rows, 'key')
    await t
      .post(
        'rpc/conformance_take_notes',
        { note_body: body },
        { prefer: 'handling=strict, max-affected=1' },
      )
      .has(400, { code: 'PGRST124', details: 'The query affects 2 rows' })
    await t
      .get(`conformance_notes?select=key&body=eq.${body}&order=id`)
      .is(200, [{ key: one }, { key: other }])
  },
)

prefer.case(
  'max-affected.scalar',
  'the limit of rows is refused for a function that returns no rows',
  { source: `${errors}#pgrst128` },
  (t) =>
    t
      .post('rpc/conformance_add', { a: 1 }, { prefer: 'handling=strict, max-affected=1' })
      .has(400, { code: 'PGRST128' }),
)

prefer.case(
  'rollback',
  'tx=rollback undoes what is returned',
  { source: `${docs}#transaction-end-preference` },
  async (t) => {
    const key = t.unique('rollback')
    t.removesRows('conformance_notes', 'key', key)
    const creation = await t.post(
      'conformance_notes?select=key',
      { key },
      { prefer: 'tx=rollback, return=representation' },
    )
    if (!creation.headerValue('preference-applied').includes('tx=')) {
      t.absent('clients may not choose how a transaction ends')
    }
    creation.is(201, [{ key }]).header('preference-applied', 'return=representation, tx=rollback')
    await t.get(`conformance_notes?key=eq.${key}`).is(200, [])
  },
)
