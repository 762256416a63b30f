import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { withoutComments } from '../src/swap/code.ts'
import { scanProject } from '../src/swap/project.ts'
import { scanClient, scanFunction, scanImportMap } from '../src/swap/scan-code.ts'
import { scanConfig } from '../src/swap/scan-config.ts'
import { scanSql } from '../src/swap/scan-sql.ts'
import { parseSql } from '../src/swap/sql.ts'
import { parseToml, TomlError } from '../src/swap/toml.ts'
import type { Use } from '../src/swap/use.ts'

/** Uses as short texts: the feature, its name, what is used, and the line. */
function brief(uses: readonly Use[]): string[] {
  return uses.map(({ feature, name, thing, line }) =>
    [feature, name, thing, `:${line}`].filter((part) => part !== '').join(' '),
  )
}

function sql(text: string, exposed: readonly string[] = ['public']): string[] {
  return brief(scanSql([{ file: 'a.sql', text }], exposed))
}

describe('TOML', () => {
  const read = (text: string) =>
    parseToml(text).map(({ path, value, line }) => [path.join('.'), value, line])

  it('has tables, keys and values of all kinds', () => {
    const text = [
      'a = "x # no comment" # a comment',
      '"quoted.key".b = \'C:\\path\'',
      '[auth.external."my provider"]',
      'enabled = true',
      'n = [1_000, 0xff, -1.5e3,',
      '  # between',
      '  "two", ]',
      'inline = { a.b = 1, a.c = [], d = "}" }',
      'long = """',
      'first "quoted" \\u00e9\\',
      '   second"""',
      'day = 2026-01-02 03:04:05Z',
      '[[list]]',
      'one = 1',
      '[[list]]',
    ]
    expect(read(text.join('\r\n'))).toEqual([
      ['a', 'x # no comment', 1],
      ['quoted.key.b', 'C:\\path', 2],
      ['auth.external.my provider', {}, 3],
      ['auth.external.my provider.enabled', true, 4],
      ['auth.external.my provider.n', [1000, 255, -1500, 'two'], 5],
      ['auth.external.my provider.inline', { a: { b: 1, c: [] }, d: '}' }, 8],
      ['auth.external.my provider.long', 'first "quoted" ésecond', 9],
      ['auth.external.my provider.day', '2026-01-02 03:04:05Z', 12],
      ['list.0', {}, 13],
      ['list.0.one', 1, 14],
      ['list.1', {}, 15],
    ])
  })

  it('is refused with its line where it is none', () => {
    for (const text of [
      'a = ',
      'a 1',
      'a = [1 2]',
      'a = "x',
      '[a',
      'a = yes',
      'a = 1 b = 2',
      'a = "\\q"',
    ]) {
      expect(() => parseToml(`\n${text}\n`), text).toThrow(TomlError)
    }
    expect(() => parseToml('a = 1\nb = "x\n')).toThrow('line 2')
  })
})

describe('SQL', () => {
  const words = (text: string) =>
    parseSql(text).map((statement) =>
      statement.map(({ value, line }) => `${value}:${line}`).join(' '),
    )

  it('is split into statements, without comments and data', () => {
    const text = [
      'SELECT 1; -- one; two',
      "/* a /* b; */ c; */ select 'it''s;', E'\\';', $a$ $$ ; $a$;",
      'copy t (a) from stdin;',
      'create extension data;',
      '\\.',
      '\\restrict create extension psql;',
      'create function f() returns int begin atomic select case when true then 1 end; select 2; end;',
      'select "A;""b"',
    ]
    expect(words(text.join('\n'))).toEqual([
      'select:1 1:1',
      "select:2 it's;:2 ,:2 ';:2 ,:2  $$ ; :2",
      'copy:3 t:3 (:3 a:3 ):3 from:3 stdin:3',
      'create:7 function:7 f:7 (:7 ):7 returns:7 int:7 begin:7 atomic:7 select:7 case:7 when:7 true:7 then:7 1:7 end:7 ' +
        ';:7 select:7 2:7 ;:7 end:7',
      'select:8 A;"b:8',
    ])
  })

  it('is no use in comments, texts and data', () => {
    const text = [
      '-- create extension in_line;',
      '/* create extension in_block; /* */ create extension still_in_block; */',
      "select 'create extension in_text;', $$create extension in_dollars;$$;",
      "insert into notes values ('grant all on notes to text_role; alter system reset all');",
      "comment on table notes is 'select cron.schedule()';",
      'copy notes from stdin;',
      'create extension in_data;',
      '\\.',
      'create function py() returns void language plpython3 as $$ create extension in_python $$;',
    ]
    expect(sql(text.join('\n'), [])).toEqual([])
  })

  it('is a use in bodies of functions and blocks, in jobs, and where a body runs it', () => {
    const text = [
      'do $$',
      'begin',
      '  create extension if not exists hstore with schema extensions;',
      "  execute format('alter publication supabase_realtime add table public.%I', name);",
      'end $$;',
      "select cron.schedule('mail', '* * * * *', $$",
      "  select net.http_post('https://a.example')",
      '$$);',
      'create function private.f() returns trigger language plpgsql as $body$',
      "begin perform realtime.send('{}', 'a', 'b'); return new; end $body$;",
    ]
    expect(sql(text.join('\n'))).toEqual([
      'extension hstore :3',
      'realtime.changes :4',
      'extension pg_cron cron.schedule :6',
      'extension pg_net net.http_post :7',
      'database.schema realtime realtime.send :10',
      'realtime.database realtime.send :10',
    ])
  })

  it('shows what REST has of exposed schemas', () => {
    const text = [
      'create table people (id int primary key, words tsvector);',
      'create table if not exists public."Books" (author int references people, by uuid references auth.users);',
      'create unlogged table private.hidden (id int references people);',
      'create or replace view authors with (security_invoker) as select * from people;',
      'create function public.plus(a int default 1, b numeric(10,2) = 2) returns int language sql as $$ select a $$;',
      "create function full_name(people) returns text language sql as 'select 1';",
      'create function books_of(p public.people) returns setof "Books" language sql as $$ select 1 $$;',
      'create function changed() returns trigger language plpgsql as $$ begin return new; end $$;',
      'create temp table scratch (id int);',
      'create policy "own rows" on people using (true);',
      'create policy files on storage.objects for select using (true);',
      'create policy rooms on realtime.messages for select using (true);',
      "alter role authenticator set pgrst.db_aggregates_enabled = 'true';",
      "create function who() returns text language sql as $$ select current_setting('request.headers') $$;",
      'create domain "text/html" as text;',
    ]
    expect(sql(text.join('\n')).filter((use) => !use.startsWith('database.'))).toEqual([
      'rest.tables public.people :1',
      'rest.text-search public.people :1',
      'rest.tables public.Books :2',
      'rest.foreign-keys public.Books :2',
      'rest.views public.authors :4',
      'rest.functions public.plus :5',
      'rest.computed-columns public.full_name :6',
      'rest.computed-relationships public.books_of :7',
      'rest.policies public.people :10',
      'storage.policies storage.objects :11',
      'realtime.private :12',
      'rest.aggregates :13',
      'rest.functions public.who :14',
      'rest.request-settings request.headers :14',
      'rest.media-types text/html :15',
    ])
  })

  it('shows roles, and what needs a superuser, extensions by their schemas, and the platform by name', () => {
    const text = [
      'create role editors; grant editors to authenticated;',
      'grant select on all tables in schema public to anon, "service_role", public with grant option;',
      'alter table t owner to postgres;',
      'alter default privileges for role supabase_admin in schema public revoke all on tables from editors;',
      'create policy p on private.t to editors, dashboard_user using (true);',
      "alter system set wal_level = 'logical'; copy t from program 'ls'; copy t to stdout;",
      'create role boss superuser;',
      'create event trigger ddl on ddl_command_end execute function f();',
      "create function c_code() returns int language c as 'lib', 'symbol';",
      'create publication warehouse for all tables;',
      'set session_replication_role = replica;',
      'alter table t rename to net; select net.total, n.http_get from net; select vault.create_secret(1);',
      'create trigger t after insert on auth.users execute function private.f();',
      'create schema private; create table auth.mine (id int); select * from auth.mine;',
    ]
    expect(sql(text.join('\n'), [])).toEqual([
      'database.roles authenticated :1',
      'database.roles anon :2',
      'database.roles service_role :2',
      'database.roles postgres :3',
      'database.roles supabase_admin :4',
      'database.roles dashboard_user :5',
      'database.superuser alter system :6',
      'database.superuser copy of a file :6',
      'database.role-attributes superuser :7',
      'database.event-triggers ddl :8',
      'database.superuser language c :9',
      'database.replication warehouse :10',
      'database.session-replication-role :11',
      'extension supabase_vault vault.create_secret :12',
      'database.schema auth auth.users :13',
    ])
  })

  it('is read in time even where a file has very long texts', () => {
    const text = `insert into t values ('${"a''".repeat(100_000)}'); create extension last;`
    expect(sql(text)).toEqual(['extension last :1'])
  })
})

describe('settings', () => {
  const config = (text: string) => brief(scanConfig({ file: 'config.toml', text }).uses)

  it('are uses where they turn something on', () => {
    const text = [
      '[api]',
      'schemas = ["public", "graphql_public", "club"]',
      '[db]',
      'major_version = 15',
      '[auth]',
      'enable_anonymous_sign_ins = true',
      'enable_manual_linking = false',
      '# enable_signup = true',
      '[auth.external.google]',
      'enabled = "env(GOOGLE)"',
      '[auth.external.apple]',
      'enabled = false',
      '[auth.email.smtp]',
      'enabled = false',
      'host = "mail.example"',
      '[auth.hook.send_email]',
      'enabled = true',
      '[storage.buckets.pictures]',
      'public = true',
      '[functions]',
      'hello = { verify_jwt = false }',
    ]
    expect(config(text.join('\n'))).toEqual([
      'rest.schemas club :2',
      'database.version 15 :4',
      'auth.anonymous :6',
      'auth.provider google :10',
      'auth.hook send_email :17',
      'storage.buckets pictures :18',
      'functions.without-token hello :21',
    ])
  })

  it('are none where the whole service is turned off', () => {
    expect(config('[auth]\nenabled = false\n[auth.email]\nenable_signup = true')).toEqual([])
    expect(config('edge_runtime.enabled = false\n[functions.a]\nverify_jwt = false')).toEqual([])
  })
})

describe('sources', () => {
  const client = (text: string) => brief(scanClient({ file: 'a.ts', text }))

  it('lose their comments, and keep their places', () => {
    const text =
      'a /* x\n */ = `${b /* c */ + `}`} // d` + "//e" // f\ng = /["/*]/.test(h) / 2 // i'
    expect(withoutComments(text).text).toBe(
      'a     \n    = `${b         + `}`} // d` + "//e"     \ng = /["/*]/.test(h) / 2     ',
    )
  })

  it('are uses of the client, not in comments and texts', () => {
    const text = [
      "// supabase.channel('in a comment')",
      'const help = "supabase.channel(\'in a text\') and auth.admin.x"',
      "supabase.channel('room', { config: { private: true } })",
      "  .on('postgres_changes', { event: '*' }, f).on('presence', {}, f)",
      "await supabase.auth.signInWithOAuth({ options, provider: 'github' })",
      "await supabase.storage.from('pictures').createSignedUrl(path, 60, { transform: { width: 9 } })",
      "await supabase.functions.invoke('hello')",
      'fetch(`${url}/storage/v1/upload/resumable`)',
    ]
    expect(client(text.join('\n'))).toEqual([
      'realtime.channels :3',
      'realtime.private :3',
      'realtime.changes :4',
      'realtime.presence :4',
      'auth.provider github :5',
      'storage.buckets pictures :6',
      'storage.signed-urls :6',
      'storage.image-transformation :6',
      'functions.served hello :7',
      'storage.resumable :8',
    ])
  })

  it('of functions use the runtime', () => {
    const text = [
      "import postgres from 'npm:postgres@3/cjs'",
      "import { z } from 'jsr:@zod/zod'",
      "// import x from 'npm:no'",
      "const lazy = await import('https://esm.example/x.js')",
      'EdgeRuntime.waitUntil(work()); Deno.upgradeWebSocket(request)',
    ]
    expect(brief(scanFunction({ file: 'index.ts', text: text.join('\n') }))).toEqual([
      'functions.npm postgres :1',
      'functions.jsr @zod/zod :2',
      'functions.url-import esm.example :4',
      'functions.background :5',
      'functions.websocket :5',
    ])
    const map = '{\n  "imports": {\n    // "a": "npm:a",\n    "b": "npm:@b/b@1"\n  }\n}'
    expect(brief(scanImportMap({ file: 'deno.jsonc', text: map }))).toEqual([
      'functions.import-map :2',
      'functions.npm @b/b :4',
    ])
    expect(scanImportMap({ file: 'deno.json', text: '{ "tasks": {} }' })).toEqual([])
  })
})

describe('a project', () => {
  let folder: string
  const write = async (file: string, text: string) => {
    const place = path.join(folder, file)
    await mkdir(path.dirname(place), { recursive: true })
    await writeFile(place, text)
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'swap-'))
    await write(
      'cli/supabase/config.toml',
      '[db.seed]\nsql_paths = ["./seeds/*.sql"]\n[functions.off]\nenabled = false',
    )
    await write('cli/supabase/migrations/1_one.sql', 'create table t (id int);')
    await write('cli/supabase/migrations/notes.txt', 'create extension no;')
    await write('cli/supabase/seeds/b.sql', "insert into storage.buckets values ('a');")
    await write('cli/supabase/seeds/old/c.sql', 'create extension no;')
    await write('cli/supabase/seed.sql', 'create extension no;')
    await write('cli/supabase/tests/pgtap.sql', 'create extension pgtap;')
    await write('cli/supabase/functions/hello/index.ts', "import 'npm:a'")
    await write('cli/supabase/functions/off/index.ts', '')
    await write('cli/supabase/functions/_shared/x.ts', "import 'jsr:@b/c'")
    await write(
      'cli/src/app.tsx',
      "import { createClient } from '@supabase/supabase-js'\nclient.channel('a')",
    )
    await write('cli/src/app.test.tsx', "client.rpc('no')")
    await write('cli/node_modules/x/index.js', "client.rpc('no')")
    await write(
      'flat/config.toml',
      'project_id = "x"\n[basalt]\nmigrations_path = "./schema"\nfunctions_path = "edge"',
    )
    await write('flat/schema/1.sql', 'create view v as select 1;')
    await write('flat/edge/hello/index.js', '')
    await write('flat/seed.sql', 'create extension seeded;')
    await write('bare/supabase/migrations/1.sql', 'create extension bare;')
    await write('broken/config.toml', 'a =')
    await write('client/index.js', "radio.channel('no client of Supabase')")
  })

  afterAll(() => rm(folder, { recursive: true }))

  const uses = async (name: string) =>
    (await scanProject(path.join(folder, name)))
      .map(({ feature, name, thing, file }) => `${feature} ${name || thing} ${file}`)
      .sort()

  it('has the shape of the Supabase CLI, or of Basalt', async () => {
    expect(await uses('cli')).toEqual([
      'database.schema storage supabase/seeds/b.sql',
      'functions.jsr @b/c supabase/functions/_shared/x.ts',
      'functions.npm a supabase/functions/hello/index.ts',
      'functions.served hello supabase/functions/hello/index.ts',
      'realtime.channels  src/app.tsx',
      'rest.tables public.t supabase/migrations/1_one.sql',
      'storage.buckets  supabase/seeds/b.sql',
    ])
    expect(await uses('flat')).toEqual([
      'extension seeded seed.sql',
      'functions.served hello edge/hello/index.js',
      'rest.views public.v schema/1.sql',
    ])
    expect(await uses('bare')).toEqual(['extension bare supabase/migrations/1.sql'])
  })

  it('is missed where there is none', async () => {
    await expect(uses('client')).rejects.toThrow('has no project')
    await expect(uses('nowhere')).rejects.toThrow('is no folder')
    await expect(uses('broken')).rejects.toThrow('config.toml: line 1')
  })
})
