import { Client } from 'pg'
import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import { runsTestsOf } from '../../support/extensions.mjs'
import { psqlAsSuperuser } from '../../support/server.mjs'
import { Platform } from './support.ts'

interface LoginRole {
  role: string
  password: string
  ttl_seconds: number
}

describe.skipIf(inject('own') === null)('login roles over the platform interface', () => {
  let platform: Platform
  let database: URL
  const clients: Client[] = []

  beforeAll(async () => {
    platform = await Platform.start({ env: { BASALT_DATABASE_PORT: '0' } })
    database = new URL((await platform.server.status()).DB_URL ?? '')
    await platform.server.psql(
      'create table public.notes (id int primary key); insert into notes values (1)',
    )
  })

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()))
  })

  async function create(readOnly: boolean) {
    const { status, body } = await platform.project<LoginRole>('POST', '/cli/login-role', {
      json: { read_only: readOnly },
    })
    expect(status).toBe(201)
    return body
  }

  /** Connects as a role, where everybody connects who has the URL of the database. */
  async function login({ role, password }: Pick<LoginRole, 'role' | 'password'>) {
    const url = new URL(database)
    url.username = role
    url.password = password
    const client = new Client({ connectionString: url.href, connectionTimeoutMillis: 10_000 })
    client.on('error', () => undefined)
    await client.connect()
    clients.push(client)
    return async (sql: string) => (await client.query(sql)).rows
  }

  /** Lets a role expire as if its time were over, long ago. */
  const expire = ({ role }: LoginRole) =>
    psqlAsSuperuser(platform.server.instance, `alter role ${role} valid until '2020-01-01'`)

  test('log in as the administrator', async () => {
    const made = await create(false)
    expect(made.role).toMatch(/^cli_login_/)
    expect(made.password.length).toBeGreaterThanOrEqual(32)
    const query = await login(made)
    expect(
      await query('select current_user::text as current, session_user::text as session'),
    ).toEqual([{ current: 'postgres', session: made.role }])
    await query('set session role postgres')
    await query('create table public.made (id int)')
    await query('insert into notes values (2)')
    expect(
      await platform.server.psql("select tableowner from pg_tables where tablename = 'made'"),
    ).toBe('postgres')
    await query('drop table public.made; delete from notes where id = 2')
    await expect(query('create role more superuser')).rejects.toThrow(/permission denied/)
    await expect(query('set role supabase_admin')).rejects.toThrow(/permission denied/)
  })

  test('log in as one that only reads', async () => {
    const query = await login(await create(true))
    expect(await query('select count(*)::int as count from notes')).toEqual([{ count: 1 }])
    expect(await query('select count(*)::int as count from auth.users')).toEqual([{ count: 0 }])
    expect(await query('show transaction_read_only')).toEqual([{ transaction_read_only: 'on' }])
    await expect(query('insert into notes values (3)')).rejects.toThrow(
      /read-only|permission denied/,
    )
    if (runsTestsOf('dblink')) {
      await platform.server.psql('create extension http with schema extensions')
      await query('set transaction_read_only = off')
      await expect(query("select extensions.http_get('http://127.0.0.1/')")).rejects.toThrow(
        /may only read cannot send/,
      )
      await platform.server.psql('drop extension http')
    }
    // Even where the session allows writes, the role has no right to them.
    await query('set default_transaction_read_only = off')
    for (const sql of [
      'insert into notes values (3)',
      'create table public.made (id int)',
      'create schema made',
      'set role postgres',
      'set role supabase_admin',
      'set role service_role',
    ])
      await expect(query(sql)).rejects.toThrow(/permission denied/)
    await query('reset role')
    await expect(query('insert into notes values (3)')).rejects.toThrow(/permission denied/)
  })

  test('need their password', async () => {
    const { role } = await create(false)
    await expect(login({ role, password: 'wrong' })).rejects.toThrow(
      /password authentication failed/,
    )
  })

  test('expire after the time that is said', async () => {
    const made = await create(false)
    expect(made.ttl_seconds).toBeGreaterThan(60)
    const left = await platform.server.psql(
      `select round(extract(epoch from rolvaliduntil - now())) from pg_roles where rolname = '${made.role}'`,
    )
    expect(Number(left)).toBeGreaterThan(made.ttl_seconds - 60)
    expect(Number(left)).toBeLessThanOrEqual(made.ttl_seconds)
    const query = await login(made)
    await expire(made)
    await expect(login(made)).rejects.toThrow(/password authentication failed|expired/)
    // Who is in stays.
    expect(await query('select 1 as one')).toEqual([{ one: 1 }])
  })

  test('are removed once they have expired for long', async () => {
    const old = await create(true)
    await expire(old)
    await create(true)
    expect(
      await platform.server.psql(`select count(*) from pg_roles where rolname = '${old.role}'`),
    ).toBe('0')
  })

  test('are gone once they are deleted; what they have made stays', async () => {
    const [writer, reader] = [await create(false), await create(true)]
    const query = await login(writer)
    await query('create table public.kept (id int)')
    // Which it owns itself.
    await query('reset role; create temp table own (id int)').catch(() => undefined)
    const { status, body } = await platform.project('DELETE', '/cli/login-role')
    expect({ status, body }).toEqual({ status: 200, body: { message: 'ok' } })
    expect(
      await platform.server.psql(
        "select count(*) from pg_roles where rolname like 'cli\\_login\\_%'",
      ),
    ).toBe('0')
    for (const role of [writer, reader])
      await expect(login(role)).rejects.toThrow(/authentication failed|does not exist/)
    expect(await platform.server.psql("select to_regclass('public.kept') is not null")).toBe('t')
    await login(await create(false))
  })

  test('end with their token, and so do their sessions and its SQL', async () => {
    const kept = await create(false)
    const name = `leaving-${Date.now()}`
    const token = await platform.createToken('--name', name)
    const { body: made } = await platform.project<LoginRole>('POST', '/cli/login-role', {
      json: { read_only: false },
      token,
    })
    const query = await login(made)
    const open = await login(kept)
    await query('create table public.of_revoked (id int)')
    const mark = 'select pg_sleep(50) as revoked_sleep'
    const running = platform.query<unknown>(mark, { token })
    const sleeping = () =>
      platform.server.psql(
        `select count(*) from pg_stat_activity where query = '${mark}' and state = 'active'`,
      )
    await expect.poll(sleeping).toBe('1')
    await platform.basalt('token', 'revoke', name)
    expect((await running).status).toBe(401)
    await expect.poll(sleeping).toBe('0')
    await expect
      .poll(() => query('select 1').then(String, () => 'ended'), { timeout: 10_000 })
      .toBe('ended')
    await expect
      .poll(() =>
        platform.server.psql(`select count(*) from pg_roles where rolname = '${made.role}'`),
      )
      .toBe('0')
    await expect(login(made)).rejects.toThrow(/authentication failed|does not exist/)
    expect(await platform.server.psql("select to_regclass('public.of_revoked') is not null")).toBe(
      't',
    )
    // Those of other tokens stay.
    expect(await open('select 1 as one')).toEqual([{ one: 1 }])
    await login(kept)
  })

  test('are left out of the findings of the advisors', async () => {
    await create(true)
    await platform.server.psql(`create table public.twice (id int);
      alter table public.twice enable row level security;
      create policy one on public.twice for select using (true);
      create policy two on public.twice for select using (true)`)
    const { body } = await platform.project<{
      lints: { name: string; detail: string; metadata: { name: string } }[]
    }>('GET', '/advisors/performance')
    const found = body.lints.filter(
      ({ name, metadata }) => name === 'multiple_permissive_policies' && metadata.name === 'twice',
    )
    const roles = found.map(({ detail }) => /the role `(.+?)`/.exec(detail)?.[1])
    expect(roles).toContain('anon')
    expect(roles.filter((role) => /^(cli_login|basalt|supabase)_/.test(role ?? ''))).toEqual([])
    await platform.server.psql('drop table public.twice')
  })

  test('do not touch other roles with a name like theirs', async () => {
    await platform.server.psql('create role clixloginxmine login')
    await platform.project('DELETE', '/cli/login-role')
    expect(
      await platform.server.psql("select count(*) from pg_roles where rolname = 'clixloginxmine'"),
    ).toBe('1')
  })

  test('are made many at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, index) => create(index % 2 === 0)),
    )
    expect(new Set(made.map(({ role }) => role)).size).toBe(10)
    for (const role of made) await login(role)
  })
})
