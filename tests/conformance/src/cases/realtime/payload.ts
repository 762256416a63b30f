import { group } from '../../case.ts'
import { partly, some } from '../../match.ts'
import { joinChanges, listen } from '../../realtime.ts'

const docs = 'https://supabase.com/docs/guides/realtime/postgres-changes'
const protocol = 'https://supabase.com/docs/guides/realtime/protocol'
const migrations =
  'https://github.com/supabase/realtime/blob/main/lib/realtime/tenants/repo/migrations'
const cast = `${migrations}/20260218120000_fix_bytea_double_encoding_in_cast.ex`
const rules = `${migrations}/20260626120000_readd_postgrest_filter_ops.ex`
const select = `${migrations}/20260527120000_add_select_columns_to_subscriptions.ex`
const kinds = 'conformance_kind_events'
const events = 'conformance_events'

export const payload = group('realtime.payload', {
  title: 'What is told of a row change',
  source: `${protocol}#postgres_changes`,
  needs: ['sql', 'service'],
})

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

payload.case('insert', 'an insert has the new row and the types of its columns', async (t) => {
  const key = t.unique('row')
  const phoenix = await t.phoenix()
  const binding = { event: '*', schema: 'public', table: events, filter: `key=eq.${key}` }
  const { topic, ids } = await joinChanges(t, phoenix, [binding])
  await t.rows(events, [{ key, body: 'new', amount: 3 }], 'key')
  await phoenix.receives({
    ...{ join_ref: null, ref: null, topic, event: 'postgres_changes' },
    payload: {
      ids,
      data: {
        ...{ type: 'INSERT', schema: 'public', table: events, commit_timestamp: instant },
        columns: [
          { name: 'id', type: 'int8' },
          { name: 'key', type: 'text' },
          { name: 'body', type: 'text' },
          { name: 'amount', type: 'int4' },
        ],
        record: { id: some.number, key, body: 'new', amount: 3 },
        errors: null,
      },
    },
  })
})

payload.case('version-1', 'version 1.0.0 tells the same in an object', async (t) => {
  const key = t.unique('row')
  const phoenix = await t.phoenix({ vsn: '1.0.0' })
  const binding = { event: '*', schema: 'public', table: events, filter: `key=eq.${key}` }
  const { topic, ids } = await joinChanges(t, phoenix, [binding])
  await t.rows(events, [{ key, body: 'new' }], 'key')
  const data = partly({ type: 'INSERT', record: partly({ key, body: 'new' }), errors: null })
  await phoenix.receives({ topic, ref: null, event: 'postgres_changes', payload: { ids, data } })
})

payload.case(
  'client',
  'a stock client is told schema, table, type, time and errors of a change',
  { source: 'https://supabase.com/docs/reference/javascript/subscribe' },
  async (t) => {
    const key = t.unique('row')
    const { received } = await listen(t, {
      event: '*',
      table: events,
      filter: `key=eq.${key}`,
    })
    await t.rows(events, [{ key, body: 'new', amount: 5 }], 'key')
    const row = { id: some.number, key, body: 'new', amount: 5 }
    const rest = { schema: 'public', table: events, commit_timestamp: instant, errors: null }
    await t.eventually(() => received, [{ ...rest, eventType: 'INSERT', new: row, old: {} }])
  },
)

payload.case('time', 'all rows of a transaction have the time of its end', async (t) => {
  const key = t.unique('row')
  const { received } = await listen(t, {
    event: '*',
    table: events,
    filter: `key=eq.${key}`,
  })
  await t.rows(
    events,
    [
      { key, body: 'one' },
      { key, body: 'two' },
    ],
    'key',
  )
  await t.eventually(() => received.map(({ new: row }) => row.body), ['one', 'two'])
  const times = received.map((change) => change.commit_timestamp)
  await t.eventually(() => times, [instant, instant])
  await t.eventually(() => new Set(times).size, 1)
})

// Values, as to_jsonb makes them.

const values: Record<string, [string, unknown, unknown]> = {
  smallint: ['small', -7, -7],
  bigint: ['big', 123456789012, 123456789012],
  numeric: ['exact', 12.5, 12.5],
  real: ['real_', 1.5, 1.5],
  double: ['double_', 0.1, 0.1],
  boolean: ['flag', true, true],
  text: ['words', 'Größe "部屋" \\ 🙂', 'Größe "部屋" \\ 🙂'],
  'text-empty': ['words', '', ''],
  varchar: ['short', 'short', 'short'],
  uuid: ['token', 'AAAAAAAA-0000-4000-8000-00000000000A', 'aaaaaaaa-0000-4000-8000-00000000000a'],
  date: ['day', '2024-02-29', '2024-02-29'],
  time: ['hour', '13:14:15.5', '13:14:15.5'],
  timestamp: ['stamp', '2024-02-29 12:34:56.789', '2024-02-29T12:34:56.789'],
  json: ['json_', { b: [1, null] }, { b: [1, null] }],
  jsonb: ['jsonb_', [1, { two: 'three' }], [1, { two: 'three' }]],
  'text-array': ['list', ['a b', 'c,d', ''], ['a b', 'c,d', '']],
  'int-array': ['ints', [1, null, 3], [1, null, 3]],
  enum: ['genre', 'poetry', 'poetry'],
  range: ['span', '[1,10)', '[1,10)'],
  null: ['words', null, null],
}
for (const [name, [column, value, expected]] of Object.entries(values)) {
  payload.case(
    `value.${name}`,
    'a value is told in the form that Postgres gives it in JSON',
    { source: cast },
    async (t) => {
      const key = t.unique('row')
      const phoenix = await t.phoenix()
      const binding = { event: '*', schema: 'public', table: kinds, filter: `key=eq.${key}` }
      const { ids } = await joinChanges(t, phoenix, [binding])
      await t.rows(kinds, [{ key, [column]: value }], 'key')
      const data = partly({ record: partly({ key, [column]: expected }) })
      await phoenix.receives({ event: 'postgres_changes', payload: { ids, data } })
    },
  )
}

payload.case(
  'value.timestamptz',
  'a point in time is told with its zone',
  { source: cast },
  async (t) => {
    const key = t.unique('row')
    const { received } = await listen(t, {
      event: '*',
      table: kinds,
      filter: `key=eq.${key}`,
    })
    await t.rows(kinds, [{ key, instant: '2024-02-29T12:00:00+02:00' }], 'key')
    // The database decides in which zone it is sent.
    await t.eventually(
      () => received.map(({ new: row }) => new Date(String(row.instant)).toISOString()),
      ['2024-02-29T10:00:00.000Z'],
    )
    await t.eventually(() => received[0]?.new.instant, /^2024-02-29T\d\d:\d\d:00[+-]\d\d:\d\d$/)
  },
)

payload.case('value.bytea', 'bytes are told in hexadecimal', { source: cast }, async (t) => {
  const key = t.unique('row')
  const { received } = await listen(t, {
    event: '*',
    table: kinds,
    filter: `key=eq.${key}`,
  })
  await t.rows(kinds, [{ key, bytes: '\\x00ff10' }], 'key')
  await t.eventually(() => received.map(({ new: row }) => row.bytes), [/^(\\x)?00ff10$/])
})

// Old rows.

const oldRows = `${docs}#receiving-old-records`

payload.case(
  'old.key',
  'by default an update has nothing of the old row but its primary key',
  { source: oldRows },
  async (t) => {
    const key = t.unique('row')
    const phoenix = await t.phoenix()
    const binding = { event: 'UPDATE', schema: 'public', table: kinds, filter: `key=eq.${key}` }
    await joinChanges(t, phoenix, [binding])
    await t.rows(kinds, [{ key, words: 'old' }], 'key')
    await t.prepare('PATCH', `/rest/v1/${kinds}?key=eq.${key}`, { words: 'new' })
    const data = partly({ record: partly({ words: 'new' }), old_record: { id: some.number } })
    await phoenix.receives({ event: 'postgres_changes', payload: partly({ data }) })
  },
)

payload.case(
  'old.full',
  'with replica identity full an update has the whole old row',
  { source: oldRows },
  async (t) => {
    const key = t.unique('row')
    const { received } = await listen(t, {
      event: 'UPDATE',
      table: events,
      filter: `key=eq.${key}`,
    })
    await t.rows(events, [{ key, body: 'old', amount: 1 }], 'key')
    await t.prepare('PATCH', `/rest/v1/${events}?key=eq.${key}`, { body: 'new' })
    await t.eventually(
      () => received.map((change) => [change.old, change.new]),
      [
        [
          { id: some.number, key, body: 'old', amount: 1 },
          { id: some.number, key, body: 'new', amount: 1 },
        ],
      ],
    )
  },
)

const deletions: Record<string, [string, string, boolean]> = {
  'delete-key': ['by default a deletion has the primary key alone', kinds, false],
  'delete-full': ['with replica identity full a deletion has the whole row', events, true],
}
for (const [name, [promise, table, isWhole]] of Object.entries(deletions)) {
  payload.case(`old.${name}`, promise, { source: oldRows }, async (t) => {
    const key = t.unique('row')
    await t.rows(table, [{ key }], 'key')
    const id = await idOf(t, table, key)
    const phoenix = await t.phoenix()
    const filter = `id=eq.${id}`
    await joinChanges(t, phoenix, [{ event: 'DELETE', schema: 'public', table, filter }])
    await t.prepare('DELETE', `/rest/v1/${table}?key=eq.${key}`)
    const row = isWhole ? { id, key, body: null, amount: null } : { id }
    const data = partly({ type: 'DELETE', old_record: row, errors: null })
    await phoenix.receives({ event: 'postgres_changes', payload: partly({ data }) })
  })
}

payload.case(
  'old.large',
  'a large value that an update leaves as it is, is told with replica identity full',
  { source: `${migrations}/20230308225145_output_full_record_when_unchanged_toast.ex` },
  async (t) => {
    const key = t.unique('row')
    // Too large for its row, and too random to be compressed.
    const body = Buffer.from(crypto.getRandomValues(new Uint8Array(9000))).toString('base64')
    const { received } = await listen(t, {
      event: 'UPDATE',
      table: events,
      filter: `key=eq.${key}`,
    })
    await t.rows(events, [{ key, body, amount: 1 }], 'key')
    await t.prepare('PATCH', `/rest/v1/${events}?key=eq.${key}`, { amount: 2 })
    await t.eventually(() => received.map(({ new: row }) => [row.amount, row.body]), [[2, body]])
  },
)

// Some columns.

payload.case(
  'select',
  'a subscription to some columns is told those and the primary key',
  { source: select },
  async (t) => {
    const key = t.unique('row')
    const phoenix = await t.phoenix()
    const filter = `key=eq.${key}`
    await joinChanges(t, phoenix, [
      { event: '*', schema: 'public', table: events, filter, select: ['body'] },
    ])
    await t.rows(events, [{ key, body: 'chosen', amount: 1 }], 'key')
    const columns = [
      { name: 'id', type: 'int8' },
      { name: 'body', type: 'text' },
    ]
    const data = partly({ columns, record: { id: some.number, body: 'chosen' } })
    await phoenix.receives({ event: 'postgres_changes', payload: partly({ data }) })
  },
)

// Who gets which changes.

const rls =
  'https://supabase.com/docs/guides/realtime/authorization#interaction-with-postgres-changes'
const owned = 'conformance_owned_events'

payload.case(
  'rights.owner',
  'a user is told the rows that policies let through',
  { source: rls },
  async (t) => {
    const [user, other] = [await t.user(), await t.user()]
    const key = t.unique('row')
    const binding = { event: '*', table: owned, filter: `key=eq.${key}` }
    const { received } = await listen(t, binding, user.client)
    const rows = [other.id, user.id].map((owner) => ({ key, owner }))
    await t.rows(owned, rows, 'key')
    await t.eventually(() => received.map(({ new: row }) => row.owner), [user.id])
  },
)

payload.case(
  'rights.nobody',
  'who may read no row of a table is told none',
  { source: rls },
  async (t) => {
    const key = t.unique('row')
    const binding = { event: '*', table: owned, filter: `key=eq.${key}` }
    const { received } = await listen(t, binding)
    await t.rows(owned, [{ key, owner: crypto.randomUUID() }], 'key')
    await t.pause(700)
    await t.eventually(() => received, [])
  },
)

payload.case(
  'rights.service',
  'the service key is told all rows',
  { source: `${docs}#custom-tokens` },
  async (t) => {
    const key = t.unique('row')
    const owner = crypto.randomUUID()
    const binding = { event: '*', table: owned, filter: `key=eq.${key}` }
    const { received } = await listen(t, binding, t.service)
    await t.rows(owned, [{ key, owner }], 'key')
    await t.eventually(() => received.map(({ new: row }) => row.owner), [owner])
  },
)

const deletionRights: Record<string, string> = {
  delete: owned,
  'delete-full': 'conformance_owned_full_events',
}
for (const [name, table] of Object.entries(deletionRights)) {
  payload.case(
    `rights.${name}`,
    'policies do not keep a deletion from being told, which has the primary key alone',
    { source: oldRows },
    async (t) => {
      const key = t.unique('row')
      await t.rows(table, [{ key, owner: crypto.randomUUID() }], 'key')
      const id = await idOf(t, table, key)
      const phoenix = await t.phoenix()
      const filter = `id=eq.${id}`
      await joinChanges(t, phoenix, [{ event: '*', schema: 'public', table, filter }])
      await t.prepare('DELETE', `/rest/v1/${table}?key=eq.${key}`)
      const data = partly({ type: 'DELETE', old_record: { id } })
      await phoenix.receives({ event: 'postgres_changes', payload: partly({ data }) })
    },
  )
}

payload.case(
  'rights.columns',
  'columns that the role may not read are not told',
  { source: rules },
  async (t) => {
    const key = t.unique('row')
    const table = 'conformance_column_events'
    const phoenix = await t.phoenix()
    const filter = `key=eq.${key}`
    await joinChanges(t, phoenix, [{ event: '*', schema: 'public', table, filter }])
    await t.rows(table, [{ key, body: 'open', closed: 'secret' }], 'key')
    const data = partly({
      columns: ['id int8', 'key text', 'body text'].map((column) => {
        const [name, type] = column.split(' ')
        return { name, type }
      }),
      record: { id: some.number, key, body: 'open' },
      errors: null,
    })
    await phoenix.receives({ event: 'postgres_changes', payload: partly({ data }) })
  },
)

// Changes that cannot be sent.

const errors: Record<string, [string, string, string]> = {
  'no-key': [
    'a change of a table without a primary key cannot be told',
    'conformance_keyless_events',
    'Error 400: Bad Request, no primary key',
  ],
  unauthorized: [
    'a change cannot be told where the role may not read the primary key',
    'conformance_barred_events',
    'Error 401: Unauthorized',
  ],
}
for (const [name, [promise, table, error]] of Object.entries(errors)) {
  payload.case(
    `errors.${name}`,
    promise,
    // All subscribers get it, whatever their filters are.
    { source: rules, alone: true },
    async (t) => {
      const phoenix = await t.phoenix()
      const { ids } = await joinChanges(t, phoenix, [{ event: '*', schema: 'public', table }])
      await t.rows(table, [{ key: t.unique('row') }], 'key')
      const data = partly({ type: 'INSERT', table, columns: [], record: {}, errors: [error] })
      await phoenix.receives({ event: 'postgres_changes', payload: { ids, data } })
    },
  )
}

payload.case(
  'errors.large',
  'of a change of more than a mebibyte those values are told that are small',
  { source: rules },
  async (t) => {
    const key = t.unique('row')
    const phoenix = await t.phoenix()
    const filter = `key=eq.${key}`
    const binding = { event: '*', schema: 'public', table: events, filter }
    const { ids } = await joinChanges(t, phoenix, [binding])
    await t.rows(events, [{ key, body: 'x'.repeat(1_100_000), amount: 4 }], 'key')
    const data = partly({
      record: { id: some.number, key, amount: 4 },
      errors: ['Error 413: Payload Too Large'],
    })
    await phoenix.receives({ event: 'postgres_changes', payload: { ids, data } })
  },
)

/** Returns the id of the row of a key. */
async function idOf(
  t: { prepare(method: string, path: string): Promise<object> },
  table: string,
  key: string,
): Promise<number> {
  const rows = await t.prepare('GET', `/rest/v1/${table}?key=eq.${key}&select=id`)
  const [row] = rows as { id: number }[]
  return row?.id ?? 0
}
