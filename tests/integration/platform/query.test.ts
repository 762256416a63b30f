import { readFile } from 'node:fs/promises'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { runsTestsOf } from '../../support/extensions.mjs'
import { Platform, type Refusal } from './support.ts'

/** How long a query may take, in seconds. */
const TIME_LIMIT = 2

describe.skipIf(inject('own') === null)('SQL over the platform interface', () => {
  let platform: Platform

  beforeAll(async () => {
    const config = `[basalt.platform]\nquery_timeout = ${String(TIME_LIMIT)}\n`
    platform = await Platform.start({ config })
    await platform.server.psql(`
      create table public.notes (id bigint primary key, body text not null);
      grant select, insert, update, delete on public.notes to public;
      insert into public.notes values (1, 'first');
      create function public.add_note() returns void language sql security definer
        as $$ insert into public.notes values (100 + floor(random() * 1e9)::bigint, 'added') $$;
      create sequence public.numbers;
      grant all on sequence public.numbers to public`)
  })

  async function refused(sql: string, more?: Parameters<Platform['query']>[1]) {
    const { status, body } = await platform.query<Refusal>(sql, more)
    expect({ sql, status, body }).toMatchObject({ sql, status: 400 })
    return body.message
  }

  test.each([[5], [null], [['select 1']], [''], [{}]])(
    'is a text: %j is refused',
    async (query) => {
      const { status, body } = await platform.project('POST', '/database/query', {
        json: { query },
      })
      expect(status).toBe(400)
      expect(body.message).toMatch(/text|string|query/)
    },
  )

  test('returns rows as objects, in the form of postgres-meta', async () => {
    const { status, body } = await platform.query(`
      select 1::int8 as big, 2::int4 as whole, 1.5::float8 as half, 1.50::numeric as money, true as yes,
        null::text as nothing, 'Zürich ☕' as name, '{"a":[1,null]}'::jsonb as json, array[1,2] as list,
        array['a b','c'] as words, '2024-02-29 10:34:56+00'::timestamptz as at, '\\xbeef'::bytea as bytes,
        9007199254740993 as huge`)
    expect(status).toBe(201)
    expect(body).toEqual([
      {
        big: 1,
        whole: 2,
        half: 1.5,
        money: '1.50',
        yes: true,
        nothing: null,
        name: 'Zürich ☕',
        json: { a: [1, null] },
        list: [1, 2],
        words: ['a b', 'c'],
        at: '2024-02-29 10:34:56+00',
        bytes: { type: 'Buffer', data: [0xbe, 0xef] },
        huge: '9007199254740993',
      },
    ])
    expect((await platform.query('select count(*) from generate_series(1, 3)')).body).toEqual([
      { count: 3 },
    ])
  })

  test('returns the rows of the last statement that has any', async () => {
    expect(await platform.query('select 1 as a; select 2 as b')).toMatchObject({
      status: 201,
      body: [{ b: 2 }],
    })
    const inserted = await platform.query(
      `insert into notes values (2, 'second') returning id; update notes set body = 'x' where id = -1`,
    )
    expect(inserted).toMatchObject({ status: 201, body: [{ id: 2 }] })
    expect(await platform.query("update notes set body = 'y' where id = 2")).toMatchObject({
      status: 201,
      body: [],
    })
    expect(await platform.query('-- nothing')).toMatchObject({ status: 201, body: [] })
  })

  test('runs all statements, or none', async () => {
    await refused("insert into notes values (3, 'third'); select 1 / 0")
    expect(await platform.server.psql('select count(*) from notes where id = 3')).toBe('0')
  })

  test('does not let one query see what another has set', async () => {
    await platform.query(
      'set search_path = pg_catalog; set role anon; create temp table here (a int)',
    )
    const { body } = await platform.query(
      "select current_user::text as name, to_regclass('pg_temp.here') is null as gone, body from notes where id = 1",
    )
    expect(body).toEqual([{ name: 'postgres', gone: true, body: 'first' }])
  })

  test('takes parameters', async () => {
    const { status, body } = await platform.query(
      'select $1::int + 1 as sum, $2::text as text, $3::jsonb as json, $4::int[] as list, $5::text is null as empty',
      { parameters: [41, `it's "quoted"`, { a: 1 }, [1, 2], null] },
    )
    expect({ status, body }).toEqual({
      status: 201,
      body: [{ sum: 42, text: `it's "quoted"`, json: { a: 1 }, list: [1, 2], empty: true }],
    })
    const message = await refused('select $1::int; select 2', { parameters: [1] })
    expect(message).toContain('cannot insert multiple commands into a prepared statement')
    await refused('select $2::int', { parameters: [1] })
  })

  test.each([
    ['select nope', '42703', 'LINE 1: select nope', 7],
    ['select 1;\n\nselect 2,\n  nope from notes', '42703', 'LINE 4:   nope from notes', 2],
    ["select 'Zürich ☕', nope", '42703', "LINE 1: select 'Zürich ☕', nope", 19],
    ['selec 1', '42601', 'LINE 1: selec 1', 0],
  ])('says where the error of %j is', async (sql, code, line, column) => {
    const message = await refused(sql)
    const blanks = ' '.repeat('LINE 1: '.length + column)
    expect(message).toMatch(/^Failed to run sql query: ERROR: {2}/)
    expect(message).toContain(`ERROR:  ${code}: `)
    expect(message).toContain(`\n${line}\n${blanks}^\n`)
  })

  test('says where an error is behind a statement that takes more rights', async () => {
    const message = await refused(
      'create extension if not exists pg_trgm with schema extensions;\nselect nope',
    )
    expect(message).toContain(`\nLINE 2: select nope\n${' '.repeat(15)}^\n`)
    const same = await refused('create extension if not exists pg_trgm; select nope')
    expect(same).toContain(
      `LINE 1: create extension if not exists pg_trgm; select nope\n${' '.repeat(55)}^\n`,
    )
  })

  test('says what Postgres says in addition', async () => {
    const message = await refused("insert into notes values (1, 'again')")
    expect(message).toContain('ERROR:  23505: duplicate key value')
    expect(message).toContain('\nDETAIL:  Key (id)=(1) already exists.')
    expect(await refused('select upper(1)')).toContain('\nHINT:  No function matches')
    const context = await refused("do $$ begin raise 'no' using hint = 'ask again'; end $$")
    expect(context).toContain('\nHINT:  ask again')
    expect(context).toContain('\nCONTEXT:  PL/pgSQL function')
  })

  describe('that may only read', () => {
    const state = () =>
      platform.server.psql(`
        select (select count(*) from notes), (select count(*) from pg_largeobject_metadata),
          (select last_value from numbers), (select count(*) from pg_class where relname ~ '^escaped'),
          (select count(*) from pg_roles)`)

    test('reads everything', async () => {
      const { status, body } = await platform.query('select body from notes where id = 1', {
        read_only: true,
      })
      expect({ status, body }).toEqual({ status: 201, body: [{ body: 'first' }] })
      const route = await platform.project<unknown>('POST', '/database/query/read-only', {
        json: { query: 'select id from notes where id = $1', parameters: [1] },
      })
      expect(route).toMatchObject({ status: 201, body: [{ id: 1 }] })
      expect(
        (await platform.query('select count(*) from auth.users', { read_only: true })).status,
      ).toBe(201)
    })

    test.each([
      "insert into notes values (10, 'no')",
      'with gone as (delete from notes returning id) select * from gone',
      'create table public.escaped (a int)',
      'create temp table escaped (a int)',
      'create role escaped',
      'select public.add_note()',
      "select nextval('public.numbers')",
      "select setval('public.numbers', 99)",
      'select lo_create(0)',
      "select lo_from_bytea(0, 'x')",
      "do $$ begin insert into notes values (10, 'no'); end $$",
      'select * from notes for update',
      'set transaction read write',
      'set local transaction_read_only = off',
      "select set_config('transaction_read_only', 'off', false)",
      'set role postgres',
      'set session authorization postgres',
      'set role supabase_admin',
    ])('refuses %j', async (sql) => {
      const before = await state()
      await refused(sql, { read_only: true })
      expect(await state()).toBe(before)
    })

    test.each([
      'commit',
      'end',
      'rollback',
      'abort',
      'commit; begin',
      'commit and chain; set transaction read write',
      'rollback; begin read write',
      'rollback; start transaction read write',
      'commit; set session characteristics as transaction read write; begin',
      'commit; set default_transaction_read_only = off; commit; begin',
      "commit; select set_config('default_transaction_read_only', 'off', false); commit; begin",
      'set default_transaction_read_only = off; commit; begin',
      'reset role; commit; begin read write',
      'reset all; commit; begin',
      'discard all',
      "commit; do $$ begin perform set_config('transaction_read_only', 'off', false); end $$; begin read write",
      "prepare transaction 'x'; begin read write",
      // Which are no comments, strings or names where Postgres reads them.
      '-- a comment\rrollback; begin read write',
      "select E'\\'' as a; rollback; begin read write; select E'\\'' as b",
      "select '\\' as a; rollback; begin read write; select '\\' as b",
      "select U&'\\0041' as a; rollback; begin read write; select U&'\\0041' as b",
      'select 1 as a$$; rollback; begin read write; select 2 as b$$',
      'select 1 as a$x$; rollback; begin read write; select 2 as b$x$',
      '/* a /* b */ */ rollback; begin read write',
      'select 1 /* a */ as "*/; /*"; rollback; begin read write',
      ';;\f\vrollback; begin read write',
      'copy (select 1) to stdout; rollback; begin read write',
      'copy notes from stdin;\nrollback; begin read write',
      '\\restrict x\nrollback; begin read write',
    ])('changes nothing behind %j', async (escape) => {
      const before = await state()
      for (const write of [
        "insert into notes values (10, 'no')",
        'select public.add_note()',
        "select lo_from_bytea(0, 'x')",
        "select nextval('public.numbers')",
        'create temp table escaped (a int)',
      ])
        await platform.query(`${escape}; ${write}; commit`, { read_only: true })
      expect(await state()).toBe(before)
    })

    test('runs as nobody who may write, also in its next query', async () => {
      await platform.query('commit; set default_transaction_read_only = off', { read_only: true })
      const { body } = await platform.query(
        `select current_user::text as name, current_setting('transaction_read_only') as read_only,
           rolsuper as super from pg_roles where rolname = session_user`,
        { read_only: true },
      )
      expect(body).toEqual([{ name: 'supabase_read_only_user', read_only: 'on', super: false }])
    })
  })

  test('reads what only reads in the same way whatever the database sets', async () => {
    const before = await platform.server.psql('select count(*) from public.notes')
    await platform.query('alter database postgres set standard_conforming_strings = off')
    try {
      const escape = `select '\\'' ; commit; begin read write; select public.add_note(); commit; --'`
      const set = await platform.query('show standard_conforming_strings')
      expect(set.body).toEqual([{ standard_conforming_strings: 'off' }])
      const { body } = await platform.query(escape, { read_only: true })
      expect(Object.values(body[0] ?? {})).toEqual([expect.stringMatching(/^.' ; commit/)])
      for (const off of [
        'set standard_conforming_strings = off',
        "select set_config('standard_conforming_strings', 'off', false)",
      ])
        await platform.query(`${off}; ${escape}`, { read_only: true })
      const plain = await platform.query("select '\\' as mark", { read_only: true })
      expect(plain.body).toEqual([{ mark: '\\' }])
    } finally {
      await platform.query('alter database postgres reset standard_conforming_strings')
    }
    expect(await platform.server.psql('select count(*) from public.notes')).toBe(before)
  })

  test.skipIf(!runsTestsOf('dblink'))('sends no requests where it only reads', async () => {
    const { port } = new URL(platform.url)
    const sql = `select status from extensions.http_get('http://127.0.0.1:${port}/auth/v1/health')`
    await platform.query('create extension if not exists http with schema extensions')
    try {
      expect(await refused(sql, { read_only: true })).toMatch(/may only read/)
      expect((await platform.query(sql)).body).toEqual([{ status: expect.any(Number) as number }])
    } finally {
      await platform.query('drop extension http')
    }
  })

  test('describes the project while its turns are taken', async () => {
    const slow = Array.from({ length: 12 }, () => platform.query('select pg_sleep(1.5)'))
    await platform.server.psql('select pg_sleep(0.3)')
    const begin = Date.now()
    const { status, body } = await platform.project<{ database: { version: string } }>('GET', '')
    expect(Date.now() - begin).toBeLessThan(1000)
    expect([status, body.database.version]).toEqual([200, expect.stringMatching(/^\d+/)])
    await Promise.all(slow)
  })

  test('ends a query that takes too long, and its statement', async () => {
    const { status, body } = await platform.query<Refusal>('select pg_sleep(50) as overlong')
    expect({ status, body }).toMatchObject({ status: 408 })
    expect(body.message).toMatch(/^Failed to run sql query: /)
    await expect
      .poll(() =>
        platform.server.psql(
          "select count(*) from pg_stat_activity where query like '%overlong%' and state = 'active' and pid <> pg_backend_pid()",
        ),
      )
      .toBe('0')
    const reading = await platform.query<Refusal>('select pg_sleep(50)', { read_only: true })
    expect(reading.status).toBe(408)
    const raised = await platform.query<Refusal>('set statement_timeout = 0; select pg_sleep(50)')
    expect(raised.status).toBe(408)
  })

  test('refuses a result that is too large, and goes on', async () => {
    const message = await refused("select repeat('x', 1000000) from generate_series(1, 200)")
    expect(message).toMatch(/large|bytes/i)
    const rows = await refused(
      'select i, repeat(md5(i::text), 10) from generate_series(1, 300000) i',
    )
    expect(rows).toMatch(/large|bytes/i)
    expect(await platform.query('select 1 as one')).toMatchObject({ body: [{ one: 1 }] })
    const fits = await platform.query("select repeat('x', 10000000) as text")
    expect((fits.body[0]?.text as string).length).toBe(10_000_000)
  })

  test.runIf(process.platform === 'linux')(
    'keeps the memory of large results within bounds',
    async () => {
      const peak = async () => {
        const status = await readFile(`/proc/${String(platform.server.process.pid)}/status`, 'utf8')
        return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024
      }
      const before = await peak()
      const nulls = Array.from({ length: 300 }, (_, index) => `null as c${String(index)}`)
      for (const sql of [
        'select from generate_series(1, 20000000)',
        `select ${nulls.join()} from generate_series(1, 100000)`,
        'select i from generate_series(1, 1500000) i',
        'select array_agg(0) || array_agg(0) as list from generate_series(1, 7000000) i',
        'select repeat(chr(1), 30000000) as controls',
      ]) {
        const answers = await Promise.all(
          Array.from({ length: 4 }, () => platform.query<Refusal>(sql)),
        )
        for (const { status, body } of answers)
          // A slow machine may not get as far as the limit.
          expect([[400, 408], body.message]).toEqual([
            expect.arrayContaining([status]),
            body.message,
          ])
      }
      // Four times the results, and the text of them.
      expect((await peak()) - before).toBeLessThan(600)
    },
    120_000,
  )

  test('returns many small rows', async () => {
    const { status, body } = await platform.query('select i from generate_series(1, 200000) i')
    expect([status, body.length, body[199_999]]).toEqual([201, 200_000, { i: 200_000 }])
    const columns = await platform.query('select 1 as a, 2 as b, 3 as a')
    expect(JSON.stringify(columns.body)).toBe('[{"a":3,"b":2}]')
    const none = await platform.query('select from generate_series(1, 2)')
    expect(none.body).toEqual([{}, {}])
  })

  test('has no rights of a superuser', async () => {
    for (const sql of [
      "select pg_read_file('/etc/passwd')",
      "select pg_read_binary_file('PG_VERSION')",
      "select pg_ls_dir('/')",
      "select lo_import('/etc/passwd')",
      "select lo_export(1, '/tmp/x')",
      "copy notes to program 'cat'",
      "copy notes from program 'id'",
      "copy notes to '/tmp/notes'",
      "copy notes from '/etc/passwd'",
      "alter system set work_mem = '1GB'",
      'create role somebody superuser',
      'alter role postgres superuser',
      "alter role supabase_admin password 'known'",
      'grant supabase_admin to postgres',
      'set role supabase_admin',
      'set session authorization supabase_admin',
      "create function public.c() returns int language c as 'libc', 'getpid'",
      'create extension if not exists plpython3u',
      "update pg_authid set rolsuper = true where rolname = 'postgres'",
      "load '/tmp/x.so'",
    ])
      await refused(sql)
    const { body } = await platform.query(
      'select rolsuper from pg_roles where rolname = current_user',
    )
    expect(body).toEqual([{ rolsuper: false }])
  })

  test('cannot change what the platform interface keeps', async () => {
    for (const sql of [
      "insert into basalt_platform.access_tokens (name, hash, hint) values ('mine', '\\x00', 'sbp_')",
      'update basalt_platform.access_tokens set scopes = null',
      'delete from basalt_platform.audit_log',
      'truncate basalt_platform.audit_log',
      'drop schema basalt_platform cascade',
      'drop table basalt_platform.audit_log',
      'alter schema basalt_platform owner to postgres',
      'create table basalt_platform.more (a int)',
      'create trigger nosy before insert on basalt_platform.secrets for each row execute function suppress_redundant_updates_trigger()',
    ])
      await refused(sql)
    // Which is no error of Postgres, but does nothing.
    await platform.query('grant all on schema basalt_platform to anon')
    expect(
      (
        await platform.query(
          "select has_schema_privilege('anon', 'basalt_platform', 'usage') as is",
        )
      ).body,
    ).toEqual([{ is: false }])
  })

  test.skipIf(!runsTestsOf('hstore'))(
    'creates extensions that a superuser has to create',
    async () => {
      const created = await platform.query(
        'create extension if not exists hstore with schema extensions',
      )
      expect(created.status).toBe(201)
      expect(
        (await platform.query("select extensions.hstore('a', 'b') -> 'a' as value")).body,
      ).toEqual([{ value: 'b' }])
      const untrusted = await platform.query(
        'create extension if not exists postgres_fdw with schema extensions; select 1 as one',
      )
      expect(untrusted).toMatchObject({ status: 201, body: [{ one: 1 }] })
      expect(
        await platform.server.psql(
          "select count(*) from pg_extension where extname = 'postgres_fdw'",
        ),
      ).toBe('1')
      expect((await platform.query('drop extension postgres_fdw')).status).toBe(201)
    },
  )

  test('creates event triggers', async () => {
    const { status, body } = await platform.query(`
      create table public.changes (tag text);
      create function public.note_change() returns event_trigger language plpgsql
        as $$ begin insert into public.changes values (tg_tag); end $$;
      create event trigger note_changes on ddl_command_end execute function public.note_change()`)
    expect({ status, body }).toMatchObject({ status: 201 })
    await platform.query('create view public.all_notes as select * from notes')
    expect(
      (await platform.query('select distinct tag from changes order by 1')).body,
    ).toContainEqual({
      tag: 'CREATE VIEW',
    })
    expect((await platform.query('drop event trigger note_changes')).status).toBe(201)
    const missing =
      'create event trigger nothing on ddl_command_end execute function public.nobody()'
    expect(await refused(missing)).toMatch(/function "?public\.nobody\(\)"? does not exist/)
  })

  test('runs many queries at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => platform.query(`select ${index} as index`)),
    )
    expect(answers.map(({ body }) => body)).toEqual(answers.map((_, index) => [{ index }]))
  })
})
