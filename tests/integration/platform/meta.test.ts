import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import expected from './meta/expected.json' with { type: 'json' }
import { type Answer, Platform, send } from './support.ts'

type Row = Record<string, unknown>

/** An error of the interface. */
interface Wrong {
  error: string
  message: string
  code: string
  formattedError: string
}

/** An object of the database, as far as the tests look it up. */
interface Thing extends Row {
  id: number
  name: string
  schema: string
  columns: Row[]
  relationships: Row[]
}

describe.skipIf(inject('own') === null)('the interface of postgres-meta', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start()
    const file = path.join(import.meta.dirname, 'meta/example.sql')
    const loaded = await platform.query<unknown>(await readFile(file, 'utf8'))
    expect(loaded).toMatchObject({ status: 201, body: [] })
  })

  /** Sends a request with the key of the service. */
  const request = <T = Wrong>(method: string, place: string, json?: unknown): Promise<Answer<T>> =>
    send<T>(platform.url, method, `/pg${place}`, {
      json,
      headers: { apikey: platform.server.access.serviceKey },
    })

  /** Returns a list, or one object. */
  async function get<T = Thing[]>(place: string) {
    const { status, body } = await request<T>('GET', place)
    expect([place, status, body]).toEqual([place, 200, body])
    return body
  }

  /** Returns what schema shop has in a list. */
  const shop = (list: string, more = '') => get(`/${list}?included_schemas=shop${more}`)

  const names = (things: Row[]) => things.map(({ name }) => name)

  const query = <T = Row[]>(sql: string, more: object = {}, place = '/query') =>
    request<T>('POST', place, { query: sql, ...more })

  /** Runs SQL that succeeds. */
  async function rows(sql: string, parameters?: unknown[]) {
    const { status, body } = await query(sql, { parameters })
    expect([sql, status, body]).toEqual([sql, 200, body])
    return body
  }

  test('is open for secret keys only', async () => {
    const { PUBLISHABLE_KEY = '', SECRET_KEY = '' } = await platform.server.status()
    const { anonKey, serviceKey } = platform.server.access
    const email = 'somebody@example.com'
    const signedUp = await send<{ access_token: string }>(platform.url, 'POST', '/auth/v1/signup', {
      json: { email, password: 'correct horse' },
      headers: { apikey: anonKey },
    })
    const user = signedUp.body.access_token
    expect(user).toMatch(/^ey/)
    const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })
    const cases: [string, Record<string, string>, boolean][] = [
      ['nothing', {}, false],
      ['the anon key', { apikey: anonKey }, false],
      ['the anon key as a token', bearer(anonKey), false],
      ['the publishable key', { apikey: PUBLISHABLE_KEY }, false],
      ['a user', { apikey: anonKey, ...bearer(user) }, false],
      ['a user alone', bearer(user), false],
      ['an access token', bearer(platform.token), false],
      ['no key at all', { apikey: 'sb_secret_nobody' }, false],
      ['another signature', { apikey: `${serviceKey.slice(0, -4)}AAAA` }, false],
      ['the service key', { apikey: serviceKey }, true],
      ['the service key, twice', { apikey: serviceKey, ...bearer(serviceKey) }, true],
      ['the service key as a token', { apikey: anonKey, ...bearer(serviceKey) }, false],
      ['the secret key', { apikey: SECRET_KEY }, true],
    ]
    for (const [who, headers, isOpen] of cases) {
      const read = await send<Row[]>(platform.url, 'GET', '/pg/schemas', { headers })
      const ran = await send<Row[]>(platform.url, 'POST', '/pg/query', {
        headers,
        json: { query: 'select 1 as one' },
      })
      const statuses = [read.status, ran.status]
      if (isOpen) expect([who, ...statuses]).toEqual([who, 200, 200])
      else
        for (const status of statuses)
          expect([who, [401, 403]]).toEqual([who, expect.arrayContaining([status])])
      expect(JSON.stringify([read.body, ran.body]).includes('one":1')).toBe(isOpen)
    }
  })

  test('lists schemas, without those of the system', async () => {
    const all = await get('/schemas')
    expect(names(all)).toEqual(expect.arrayContaining(['Odd Schema', 'auth', 'depot', 'shop']))
    expect(names(all)).not.toContain('pg_catalog')
    expect(names(await get('/schemas?include_system_schemas=true'))).toContain('pg_catalog')
    const one = all.find(({ name }) => name === 'shop')
    expect(one).toMatchObject({ owner: 'postgres' })
    expect(await get(`/schemas/${String(one?.id)}`)).toEqual(one)
  })

  test('lists tables with columns, keys and relationships', async () => {
    const all = await shop('tables')
    expect(names(all)).toEqual(['customer', 'product', 'purchase', 'event', 'event_2024'])
    const [customer, product, purchase] = all
    expect(customer).toMatchObject({
      schema: 'shop',
      comment: 'Who buys',
      rls_enabled: true,
      rls_forced: false,
      replica_identity: 'DEFAULT',
      live_rows_estimate: expect.any(Number) as number,
      primary_keys: [
        { schema: 'shop', table_name: 'customer', name: 'id', table_id: customer?.id },
      ],
    })
    const columns = names(customer?.columns ?? []).join(' ')
    expect(columns).toBe('id uid mail address nickname age')
    expect(product).toMatchObject({ rls_forced: true, replica_identity: 'FULL', comment: null })
    const key = (name: string, column: string, [schema, table, target]: string[]) => ({
      constraint_name: name,
      source_schema: 'shop',
      source_table_name: 'purchase',
      source_column_name: column,
      target_table_schema: schema,
      target_table_name: table,
      target_column_name: target,
    })
    const keys = [
      key('purchase_customer_id_fkey', 'customer_id', ['shop', 'customer', 'id']),
      key('purchase_product_id_fkey', 'product_id', ['shop', 'product', 'id']),
      key('purchase_warehouse', 'country', ['depot', 'warehouse', 'country']),
      key('purchase_warehouse', 'code', ['depot', 'warehouse', 'code']),
    ]
    expect(purchase?.relationships).toHaveLength(4)
    for (const one of keys)
      expect(purchase?.relationships).toContainEqual(expect.objectContaining(one))
    // They are the other table's, too.
    expect(customer?.relationships).toMatchObject([keys[0]])
    const [warehouse] = await get('/tables?included_schemas=depot')
    expect(warehouse?.primary_keys).toMatchObject([{ name: 'country' }, { name: 'code' }])
    const [bare] = await shop('tables', '&include_columns=false')
    expect(bare).toMatchObject({ name: 'customer' })
    expect(bare).not.toHaveProperty('columns')
    expect(await get(`/tables/${String(customer?.id)}`)).toEqual(customer)
  })

  test('lists columns with their types, defaults and checks', async () => {
    const all = await shop('columns')
    const column = (table: string, name: string) =>
      all.find((one) => one.table === table && one.name === name)
    expect(column('customer', 'id')).toMatchObject({
      data_type: 'bigint',
      format: 'int8',
      is_identity: true,
      identity_generation: 'ALWAYS',
      is_nullable: false,
      default_value: null,
    })
    expect(column('customer', 'uid')).toMatchObject({
      default_value: 'gen_random_uuid()',
      is_unique: true,
      is_nullable: true,
    })
    expect(column('customer', 'mail')).toMatchObject({
      data_type: 'text',
      is_nullable: false,
      comment: 'Where invoices go',
    })
    expect(column('customer', 'nickname')?.default_value).toBe("'it''s me'::text")
    expect(column('customer', 'age')?.check).toBe('age >= 0 AND age <= 150')
    expect(column('product', 'gross')).toMatchObject({ is_generated: true })
    expect(column('product', 'tags')).toMatchObject({ data_type: 'ARRAY', format: '_text' })
    const state = column('product', 'state')
    expect(state).toMatchObject({
      ordinal_position: 7,
      data_type: 'USER-DEFINED',
      format: 'status',
      default_value: "'new'::shop.status",
      enums: ['new', 'paid', 'it\'s "odd", really', 'sent'],
    })
    expect(column('product', 'dropped')).toBeUndefined()
    expect(column('customer_names', 'name')).toBeDefined()
    expect(state?.id).toBe(`${String(state?.table_id)}.7`)
    expect(await get(`/columns/${String(state?.id)}`)).toEqual(state)
    const [, odd] = await get('/columns?included_schemas=Odd%20Schema')
    expect(odd).toMatchObject({ table: 'Odd Table', name: "quote'd" })
  })

  test('lists materialized views', async () => {
    const stored = await shop('materialized-views')
    expect(stored).toMatchObject([
      { name: 'totals', is_populated: true, comment: 'Refreshed at night' },
      { name: 'unfilled', is_populated: false },
    ])
    expect(stored[0]).not.toHaveProperty('columns')
    const [totals] = await shop('materialized-views', '&include_columns=true')
    expect(names(totals?.columns ?? [])).toEqual(['customer_id', 'n'])
    expect(await get('/foreign-tables')).toEqual([])
  })

  test.each(['views', 'functions', 'policies', 'triggers', 'types'] as const)(
    'lists %s as the example has them',
    async (list) => {
      const all = await shop(list)
      expect(all).toMatchObject(expected[list])
      if (list === 'types') return
      for (const one of all) expect(await get(`/${list}/${String(one.id)}`)).toEqual(one)
    },
  )

  test('names other objects by their ids', async () => {
    const all = (list: string, name: string) =>
      shop(list, '&include_array_types=true').then((all) => all.find((one) => one.name === name))
    const id = async (list: string, name: string) => (await all(list, name))?.id
    expect(await all('policies', 'own')).toMatchObject({ table_id: await id('tables', 'customer') })
    const product = await id('tables', 'product')
    expect(await all('triggers', 'audit_after')).toMatchObject({ table_id: product })
    expect(await all('functions', 'products')).toMatchObject({ return_type_relation_id: product })
    const outs = await all('functions', 'outs')
    expect(outs?.args).toContainEqual({
      mode: 'out',
      name: 'd',
      type_id: await id('types', 'status'),
      has_default: null,
    })
    expect(await id('types', '_status')).toBeDefined()
    expect(names(await shop('types'))).not.toContain('_status')
  })

  test('lists indexes', async () => {
    const all = await shop('indexes')
    const index = (name: string) =>
      all.find((one) => String(one.index_definition).includes(` INDEX ${name} ON shop.product `))
    expect(index('product_partial')).toMatchObject({
      number_of_attributes: 3,
      number_of_key_attributes: 2,
      is_unique: false,
      is_primary: false,
      is_valid: true,
      access_method: 'btree',
      comment: 'For the search',
      index_definition: expect.stringContaining('(state DESC NULLS LAST, name)') as string,
      index_attributes: [
        { attribute_name: 'state', attribute_number: 7 },
        { attribute_name: 'name', attribute_number: 2 },
        { attribute_name: 'price', attribute_number: 3 },
      ],
    })
    expect(index('product_name')).toMatchObject({
      is_unique: true,
      index_attributes: [{ attribute_number: 0, data_type: 'text' }],
    })
    expect(index('product_pkey')).toMatchObject({ is_primary: true })
  })

  test('lists publications, extensions and roles', async () => {
    const publications = await get('/publications')
    const publication = (name: string) => publications.find((one) => one.name === name)
    expect(publication('shop_some')).toMatchObject({
      owner: 'postgres',
      publish_insert: true,
      publish_update: true,
      publish_delete: false,
      publish_truncate: false,
      tables: [
        { schema: 'shop', name: 'customer' },
        { schema: 'shop', name: 'purchase' },
      ],
    })
    expect(publication('shop_none')).toMatchObject({ publish_delete: true, tables: [] })
    const extensions = await get('/extensions')
    expect(extensions.find(({ name }) => name === 'pgcrypto')).toMatchObject({
      schema: 'extensions',
      installed_version: expect.any(String) as string,
      default_version: expect.any(String) as string,
    })
    expect(await get('/extensions/pgcrypto')).toMatchObject({ name: 'pgcrypto' })
    // What could be installed is there, too.
    expect(extensions.some((one) => one.installed_version === null)).toBe(true)
    const roles = await get('/roles')
    expect(roles.find(({ name }) => name === 'shop_login')).toMatchObject({
      can_login: true,
      is_superuser: false,
      connection_limit: 7,
      password: '********',
      valid_until: expect.stringMatching(/^2030-01-02/) as string,
      config: { statement_timeout: '3s' },
    })
    expect(roles.find(({ name }) => name === 'shop_writer')).toMatchObject({ inherit_role: false })
    expect(names(roles)).not.toContain('pg_monitor')
    expect(names(await get('/roles?include_default_roles=true'))).toContain('pg_monitor')
  })

  test('lists privileges of tables and columns', async () => {
    const customer = (await shop('table-privileges')).find(({ name }) => name === 'customer')
    expect(customer).toMatchObject({ kind: 'table' })
    const privilege = (grantee: string, type: string, is_grantable: boolean) => ({
      grantor: 'postgres',
      grantee,
      privilege_type: type,
      is_grantable,
    })
    expect(customer?.privileges).toContainEqual(privilege('authenticated', 'INSERT', true))
    expect(JSON.stringify(customer?.privileges)).not.toContain('anon')
    const columns = await shop('column-privileges')
    const of = (name: string) =>
      columns.find((one) => one.relation_name === 'customer' && one.column_name === name)
    expect(of('nickname')?.privileges).toContainEqual(privilege('shop_reader', 'UPDATE', false))
    expect(of('id')?.privileges).toContainEqual(privilege('shop_reader', 'SELECT', false))
    expect(of('id')?.privileges).not.toContainEqual(privilege('shop_reader', 'UPDATE', false))
  })

  test('describes the server', async () => {
    const { version, version_number } = await get<Row>('/config/version')
    expect(version).toMatch(/^PostgreSQL \d+/)
    expect([{ server_version_num: String(version_number) }]).toEqual(
      await rows('show server_version_num'),
    )
    const config = await get('/config')
    expect(config.find(({ name }) => name === 'max_connections')).toMatchObject({
      setting: expect.stringMatching(/^\d+$/) as string,
    })
  })

  test('limits lists to schemas', async () => {
    const schemas = async (filter: string) =>
      [...new Set((await get(`/tables?${filter}`)).map(({ schema }) => schema))].sort()
    expect(await schemas('included_schemas=shop,depot')).toEqual(['depot', 'shop'])
    expect(await schemas('included_schemas=Odd%20Schema')).toEqual(['Odd Schema'])
    expect(await schemas('included_schemas=')).toEqual([])
    const all = await schemas('')
    expect(all).toEqual(expect.arrayContaining(['Odd Schema', 'auth', 'depot', 'shop']))
    expect(all).not.toContain('pg_catalog')
    expect(await schemas('excluded_schemas=shop,auth')).toEqual(
      all.filter((name) => name !== 'shop' && name !== 'auth'),
    )
    expect(await schemas('include_system_schemas=true')).toEqual(
      expect.arrayContaining(['pg_catalog', 'shop']),
    )
    // Nobody's name ends the statement.
    expect(await schemas(`included_schemas=${encodeURIComponent("x') or ('' = '")}`)).toEqual([])
  })

  test('limits how much lists have', async () => {
    const all = names(await shop('tables'))
    expect(names(await shop('tables', '&limit=2'))).toEqual(all.slice(0, 2))
    expect(names(await shop('tables', '&limit=2&offset=1'))).toEqual(all.slice(1, 3))
    expect(names(await shop('tables', '&offset=4'))).toEqual(all.slice(4))
    expect(names(await shop('tables', '&limit=0'))).toEqual(all)
    expect(await shop('policies', '&limit=0')).toEqual([])
    for (const [parameters, error] of [
      ['tables?limit=x', 'querystring/limit must be integer'],
      ['tables?limit=-1', 'LIMIT must not be negative'],
      ['tables?offset=-1', 'OFFSET must not be negative'],
      ['policies?limit=x', 'invalid input syntax for type bigint: "x"'],
      ['schemas?include_system_schemas=1', 'querystring/include_system_schemas must be boolean'],
    ] as const)
      expect(await request('GET', `/${parameters}`)).toMatchObject({ status: 500, body: { error } })
  })

  test('says what is not there', async () => {
    for (const [place, error] of [
      ['/schemas/1', 'Cannot find a schema with ID 1'],
      ['/tables/1', 'Cannot find a table with ID 1'],
      ['/columns/1.1', 'Cannot find a column with ID 1.1'],
      ['/extensions/nope', 'Cannot find an extension named nope'],
      ['/extensions/n%6Fpe%2Done', 'Cannot find an extension named nope-one'],
      ['/schemas/x', 'Not found'],
      ['/types/25', 'Not found'],
      ['/nothing', 'Not found'],
    ] as const)
      expect([place, await request('GET', place)]).toMatchObject([
        place,
        { status: 404, body: { error } },
      ])
    expect((await request('GET', '/query')).status).toBe(404)
  })

  test('runs SQL as the administrator', async () => {
    expect(await rows('select current_user::text as who')).toEqual([{ who: 'postgres' }])
    expect(await rows('create table public.made (id int); insert into made values (1)')).toEqual([])
    expect(await rows('insert into made values (2) returning id')).toEqual([{ id: 2 }])
    expect(await rows('select 1 as a; select 2 as b')).toEqual([{ b: 2 }])
    expect(await rows('  -- nothing')).toEqual([])
    expect(await rows('select id from auth.users where false')).toEqual([])
    // What a request sets ends with it.
    expect(await rows('set role anon; select current_user::text as who')).toEqual([{ who: 'anon' }])
    expect(await rows('select current_user::text as who')).toEqual([{ who: 'postgres' }])
    expect(
      await rows('select $1::int as a, $2::text as b, $3::jsonb as c, $4::int[] as d', [
        1,
        "it's",
        { x: 1 },
        [1, 2],
      ]),
    ).toEqual([{ a: 1, b: "it's", c: { x: 1 }, d: [1, 2] }])
    await rows('drop table public.made')
  })

  test('answers with values as postgres-meta does', async () => {
    const [row] = await rows(`
      select true as bool, 42 as int4, 3::bigint as int8, 9007199254740993 as large,
        1.50::numeric as numeric, 0.1::float8 as float8, null::int as "null",
        '2024-02-29'::date as date, '{"b":1,"a":[1]}'::json as json, '{x,NULL}'::text[] as texts,
        'paid'::shop.status as enum, row(1, 'a') as composite, '\\xdead'::bytea as bytea,
        '{1,9007199254740993}'::bigint[] as int8s, '{1.5,NaN}'::numeric[] as numerics,
        '{paid}'::shop.status[] as enums, 'NaN'::float8 as nan, array[[1, 2]] as matrix`)
    expect(row).toEqual({
      bool: true,
      int4: 42,
      int8: 3,
      large: '9007199254740993',
      numeric: '1.50',
      float8: 0.1,
      null: null,
      date: '2024-02-29',
      json: { b: 1, a: [1] },
      texts: ['x', null],
      enum: 'paid',
      composite: '(1,a)',
      bytea: { type: 'Buffer', data: [222, 173] },
      int8s: ['1', '9007199254740993'],
      numerics: [1.5, null],
      enums: '{paid}',
      nan: null,
      matrix: [[1, 2]],
    })
  })

  test('says what is wrong with SQL', async () => {
    const formatted = 'ERROR:  42703: column "nope" does not exist\nLINE 2:   nope\n          ^\n'
    expect(await query<Wrong>('select 1,\n  nope\nfrom pg_class')).toMatchObject({
      status: 400,
      body: {
        error: formatted,
        formattedError: formatted,
        message: 'column "nope" does not exist',
        code: '42703',
        position: '13',
        severity: 'ERROR',
      },
    })
    expect(
      await query<Wrong>(`insert into shop.event values ('2024-01-02', 'y'), ('2024-01-02', 'y')`),
    ).toMatchObject({
      status: 400,
      body: {
        code: '23505',
        detail: 'Key (at, what)=(2024-01-02, y) already exists.',
        schema: 'shop',
        table: 'event_2024',
        constraint: 'event_2024_pkey',
      },
    })
    // Of a request that fails, nothing is left.
    const both = "insert into shop.event values ('2024-02-02', 'z'); select 1 / 0"
    expect(await query<Wrong>(both)).toMatchObject({ status: 400, body: { code: '22012' } })
    expect(await rows('select count(*)::int as n from shop.event')).toEqual([{ n: 0 }])
    for (const sql of ['create role more superuser', 'set role supabase_admin'])
      expect(await query<Wrong>(sql)).toMatchObject({ status: 400, body: { code: '42501' } })
    expect(
      await query<Wrong>('select pg_sleep(20)', {}, '/query?statementTimeoutSecs=1'),
    ).toMatchObject({
      status: 408,
      body: {
        message: expect.stringMatching(/cancel/) as string,
        code: '57014',
      },
    })
    expect(await query<Wrong>('select 1', { parameters: 'x' })).toMatchObject({
      status: 400,
      body: { message: 'Query values must be an array' },
    })
  })
})
