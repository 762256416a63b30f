import { group } from '../../case.ts'
import { partly, some } from '../../match.ts'
import { joinChanges, listen, subscribe } from '../../realtime.ts'

const docs = 'https://supabase.com/docs/guides/realtime/postgres-changes'
const protocol = 'https://supabase.com/docs/guides/realtime/protocol'
const source = 'https://github.com/supabase/realtime/blob/main/lib'
const subscriptions = `${source}/extensions/postgres_cdc_rls/subscriptions.ex`
const table = 'conformance_events'

export const changes = group('realtime.changes', {
  title: 'Row changes',
  source: docs,
  needs: ['sql', 'service'],
})

changes.case('insert', 'an inserted row is told to the subscribers of its table', async (t) => {
  const key = t.unique('change')
  const { received } = await listen(t, { event: 'INSERT', table, filter: `key=eq.${key}` })
  await t.rows(table, [{ key, body: 'new', amount: 3 }], 'key')
  await t.eventually(
    () => received,
    [partly({ eventType: 'INSERT', new: partly({ key, body: 'new', amount: 3 }), old: {} })],
  )
})

changes.case(
  'update',
  'a changed row is told to the subscribers of its table',
  { source: `${docs}#listening-to-update-events` },
  async (t) => {
    const key = t.unique('change')
    const { received } = await listen(t, {
      event: 'UPDATE',
      table,
      filter: `key=eq.${key}`,
    })
    await t.rows(table, [{ key, body: 'first' }], 'key')
    await t.prepare('PATCH', `/rest/v1/${table}?key=eq.${key}`, { body: 'second' })
    await t.eventually(
      () => received,
      [partly({ eventType: 'UPDATE', new: partly({ key, body: 'second' }) })],
    )
  },
)

changes.case(
  'delete',
  'a deleted row is told to the subscribers of its table',
  { source: `${docs}#listening-to-delete-events` },
  async (t) => {
    const key = t.unique('change')
    await t.rows(table, [{ key }], 'key')
    const found = (await t.prepare('GET', `/rest/v1/${table}?key=eq.${key}`)) as unknown as Row[]
    const id = found[0]?.id ?? 0
    const { received } = await listen(t, { event: 'DELETE', table, filter: `id=eq.${id}` })
    await t.prepare('DELETE', `/rest/v1/${table}?key=eq.${key}`)
    await t.eventually(
      () => received,
      [partly({ eventType: 'DELETE', old: partly({ id }), new: {} })],
    )
  },
)

interface Row {
  id: number
}

changes.case(
  'all',
  'the event * stands for all events, which come in their order',
  { source: `${docs}#listening-to-specific-tables` },
  async (t) => {
    const key = t.unique('change')
    const { received } = await listen(t, { event: '*', table, filter: `key=eq.${key}` })
    await t.rows(table, [{ key, body: 'first' }], 'key')
    await t.prepare('PATCH', `/rest/v1/${table}?key=eq.${key}`, { body: 'second' })
    await t.eventually(
      () => received.map(({ eventType, new: row }) => [eventType, row.body]),
      [
        ['INSERT', 'first'],
        ['UPDATE', 'second'],
      ],
    )
  },
)

changes.case(
  'events',
  'other events than those that were asked for are not told',
  { source: `${docs}#listening-to-insert-events` },
  async (t) => {
    const key = t.unique('change')
    const filter = `key=eq.${key}`
    const { received } = await listen(t, { event: 'INSERT', table, filter })
    await t.rows(table, [{ key, body: 'first' }], 'key')
    await t.prepare('PATCH', `/rest/v1/${table}?key=eq.${key}`, { body: 'second' })
    await t.prepare('POST', `/rest/v1/${table}`, { key, body: 'third' })
    await t.eventually(() => received.map(({ new: row }) => row.body), ['first', 'third'])
  },
)

changes.case(
  'letters',
  'the event may be in small letters',
  { source: subscriptions },
  async (t) => {
    const key = t.unique('change')
    const phoenix = await t.phoenix()
    const filter = `key=eq.${key}`
    await joinChanges(t, phoenix, [{ event: 'update', schema: 'public', table, filter }])
    await t.rows(table, [{ key, body: 'first' }], 'key')
    await t.prepare('PATCH', `/rest/v1/${table}?key=eq.${key}`, { body: 'second' })
    const data = partly({ type: 'UPDATE', record: partly({ body: 'second' }) })
    await phoenix.receives({ event: 'postgres_changes', payload: partly({ data }) })
    await phoenix.receivesNone({ event: 'postgres_changes' }, 100)
  },
)

// Which tables.

const wide: Record<string, [string, object]> = {
  schema: [`${docs}#listening-to-specific-schemas`, { event: '*', schema: 'public' }],
  'any-table': [`${protocol}#phx_join`, { event: '*', schema: 'public', table: '*' }],
  'any-schema': [`${protocol}#phx_join`, { event: '*', schema: '*' }],
  'no-schema': [subscriptions, { event: '*', table }],
}
for (const [name, [page, binding]] of Object.entries(wide)) {
  changes.case(
    `tables.${name}`,
    'a subscription without a table or with * is one to all tables of the publication',
    // Changes of other cases are told here, too.
    { source: page, alone: true },
    async (t) => {
      const key = t.unique('change')
      const phoenix = await t.phoenix()
      const { topic, ids } = await joinChanges(t, phoenix, [binding])
      await t.rows(table, [{ key }], 'key')
      const data = partly({ table, record: partly({ key }) })
      await phoenix.receives({ topic, event: 'postgres_changes', payload: { ids, data } })
    },
  )
}

changes.case(
  'tables.unpublished',
  'who subscribes to a table that is not in the publication is told so, and the channel stays',
  { source: `${protocol}#postgres-changes-subscription-errors` },
  async (t) => {
    const phoenix = await t.phoenix()
    const name = t.unique('changes')
    const topic = `realtime:${name}`
    const binding = { event: '*', schema: 'public', table: 'conformance_notes' }
    const config = { postgres_changes: [binding], broadcast: { self: true, ack: true } }
    phoenix.push(topic, 'phx_join', { config })
    await phoenix.receives({
      ...{ topic, event: 'system' },
      payload: {
        ...{ extension: 'postgres_changes', status: 'error', channel: name },
        message:
          /^Unable to subscribe to changes with given parameters\. Please check Realtime is enabled for the given connect parameters: \[event: \*, schema: public, table: conformance_notes, /,
      },
    })
    const ref = phoenix.push(topic, 'broadcast', { type: 'broadcast', event: 'e', payload: {} })
    await phoenix.receives({
      topic,
      event: 'phx_reply',
      ref,
      payload: { status: 'ok', response: {} },
    })
  },
)

// Several subscriptions of a channel.

changes.case(
  'reply',
  'the reply to a join repeats the subscriptions in their order, each with its id',
  { source: `${protocol}#phx_reply` },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('changes')}`
    const bindings = [
      { event: 'INSERT', schema: 'public', table },
      { event: 'UPDATE', schema: 'public', table, filter: 'amount=gt.5' },
      { event: '*', schema: 'public' },
    ]
    const ref = phoenix.push(topic, 'phx_join', { config: { postgres_changes: bindings } })
    const repeated = bindings.map((binding) => ({ id: some.number, ...binding }))
    const payload = { status: 'ok', response: { postgres_changes: repeated } }
    await phoenix.receives({ topic, event: 'phx_reply', ref, payload })
  },
)

changes.case(
  'ids',
  'a change has the ids of all subscriptions that it is told for',
  { source: `${protocol}#postgres_changes` },
  async (t) => {
    const key = t.unique('change')
    const phoenix = await t.phoenix()
    const filter = `key=eq.${key}`
    const bindings = [
      { event: 'INSERT', schema: 'public', table, filter },
      { event: 'UPDATE', schema: 'public', table, filter },
      { event: '*', schema: 'public', table, filter },
    ]
    const { topic, ids } = await joinChanges(t, phoenix, bindings)
    await t.rows(table, [{ key }], 'key')
    const { payload } = await phoenix.receives({ topic, event: 'postgres_changes' })
    const notice = (payload as { ids: number[] }).ids
    // Which of them comes first is not said.
    const sorted = (list: unknown[]) => list.map(String).sort()
    await t.eventually(() => sorted(notice), sorted([ids[0], ids[2]]))
  },
)

changes.case(
  'several',
  'a stock client’s channel hears several tables, each with its own listener',
  { source: `${docs}#listening-to-multiple-changes` },
  async (t) => {
    const key = t.unique('change')
    const filter = `key=eq.${key}`
    const [received, ready]: [unknown[], unknown[]] = [[], []]
    const add = (name: string) => (change: { table: string }) =>
      void received.push(`${name} ${change.table}`)
    t.anon
      .channel(t.unique('changes'))
      .on('postgres_changes', { event: '*', schema: 'public', table, filter }, add('one'))
      .on(
        'postgres_changes',
        { event: 'INSERT', schema: 'public', table: 'conformance_kind_events', filter },
        add('other'),
      )
      .on('system', {}, (notice: unknown) => void ready.push(notice))
      .subscribe()
    await t.eventually(() => ready, [partly({ status: 'ok', extension: 'postgres_changes' })])
    await t.rows(table, [{ key }], 'key')
    await t.rows('conformance_kind_events', [{ key }], 'key')
    await t.eventually(() => received, [`one ${table}`, 'other conformance_kind_events'])
  },
)

changes.case('channels', 'every channel that listens is told a change', async (t) => {
  const key = t.unique('change')
  const binding = { event: '*', table, filter: `key=eq.${key}` }
  const clients = [t.client(t.target.anonKey), t.client(t.target.anonKey)]
  const listening = []
  for (const client of clients) listening.push(await listen(t, binding, client))
  await t.rows(table, [{ key, body: 'for all' }], 'key')
  for (const { received } of listening) {
    await t.eventually(() => received.map(({ new: row }) => row.body), ['for all'])
  }
})

changes.case(
  'unsubscribe',
  'a channel that was left is told nothing more',
  { source: 'https://supabase.com/docs/reference/javascript/removechannel' },
  async (t) => {
    const key = t.unique('change')
    const { received, channel } = await listen(t, {
      event: '*',
      table,
      filter: `key=eq.${key}`,
    })
    await t.rows(table, [{ key, body: 'first' }], 'key')
    await t.eventually(() => received.map(({ new: row }) => row.body), ['first'])
    await channel.unsubscribe()
    await t.prepare('POST', `/rest/v1/${table}`, { key, body: 'second' })
    await t.pause(500)
    await t.eventually(() => received.map(({ new: row }) => row.body), ['first'])
  },
)

changes.case(
  'rolled-back',
  'work that is taken back is never told',
  { source: 'https://www.postgresql.org/docs/current/logicaldecoding-explanation.html' },
  async (t) => {
    const key = t.unique('change')
    const { received } = await listen(t, { event: '*', table, filter: `key=eq.${key}` })
    t.removesRows(table, 'key', key)
    await t.prepare('POST', '/rest/v1/rpc/conformance_insert_twice', { row_key: key })
    await t.eventually(() => received.map(({ new: row }) => row.body), ['kept'])
  },
)

changes.case(
  'order',
  'rows of a transaction come in the order in which they were written',
  { source: `${docs}#database-instance-and-realtime-performance` },
  async (t) => {
    const key = t.unique('change')
    const { received } = await listen(t, {
      event: 'INSERT',
      table,
      filter: `key=eq.${key}`,
    })
    const numbers = Array.from({ length: 20 }, (_, n) => n)
    await t.rows(
      table,
      numbers.map((amount) => ({ key, amount })),
      'key',
    )
    await t.eventually(() => received.map(({ new: row }) => row.amount), numbers)
  },
)

// What is wrong with a subscription is told once it is tried; the channel stays.

const wrong: Record<string, [object, string | RegExp]> = {
  operator: [{ filter: 'body=foo.x' }, /^Error parsing `filter` params: /],
  shape: [{ filter: 'undefined' }, /^Error parsing `filter` params: /],
  'empty-part': [
    { filter: 'amount=gt.1,,amount=lt.5' },
    /^Error parsing `filter` params: filter must not contain empty segments/,
  ],
  parentheses: [
    { filter: 'body=in.a,b' },
    'Error parsing `filter` params: `in` filter value must be wrapped by parentheses',
  ],
  column: [{ filter: 'nothing=eq.1' }, /invalid column for filter nothing/],
  value: [{ filter: 'amount=eq.many' }, /invalid input syntax for type integer/],
  boolean: [{ filter: 'amount=is.true' }, /is true filter requires a boolean column, got integer/],
  keyword: [
    { filter: 'amount=is.five' },
    /invalid value for is filter: must be null, true, false, or unknown/,
  ],
  pattern: [
    { filter: 'amount=like.1%' },
    /operator like requires a text-compatible column type, got integer/,
  ],
  expression: [{ filter: 'body=match.(' }, /invalid regular expression for match filter/],
  many: [
    { filter: `amount=in.(${Array.from({ length: 101 }, (_, n) => n).join(',')})` },
    /too many values for `in` filter\. Maximum 100/,
  ],
  select: [{ select: ['nothing'] }, /invalid column for select nothing/],
  'select-text': [{ select: 'body' }, /^Error parsing `select` params: /],
}
for (const [name, [rest, text]] of Object.entries(wrong)) {
  changes.case(
    `wrong.${name}`,
    'what is wrong with a subscription is told, and the channel stays',
    { source: subscriptions },
    async (t) => {
      const { system } = subscribe(t, { event: '*', table, ...rest })
      await t.eventually(
        () => system,
        [partly({ extension: 'postgres_changes', status: 'error', message: text })],
      )
    },
  )
}
