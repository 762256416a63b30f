// The stock Supabase CLI manages a server over its platform interface, as it does a hosted project: with a profile, an
// access token and nothing else.

import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { beforeAll, describe, expect, test } from 'vitest'

import { freePort } from '../../bench/lib/ports.mjs'
import { identityProvider } from '../support/identity-provider.mjs'
import { Server } from '../support/server.mjs'
import { basaltOutput, link, supabase as runSupabase } from '../support/supabase-cli.mjs'

const run = promisify(execFile)
const repository = path.resolve(import.meta.dirname, '../..')
const basaltProgram = path.resolve(
  process.env.BASALT_BINARY ?? path.join(repository, 'target/debug/basalt'),
)

/** The files of a function that has more than one. */
const GREETING = {
  'functions/greeting/index.ts': `
    import { name } from 'names'
    import { greet } from '../_shared/greet.ts'
    Deno.serve(() => new Response(greet(name) + ', ' + (Deno.env.get('WORD') ?? 'no word')))`,
  'functions/greeting/names.ts': "export const name = 'Ada'",
  'functions/greeting/deno.json': '{ "imports": { "names": "./names.ts" } }',
  'functions/_shared/greet.ts': 'export const greet = (name: string) => `hello ${name}`',
}

let folder: string
let server: Server
let ref: string
let token: string
/** On which other machines reach the database. */
let databasePort: number

const basalt = (...words: string[]) => basaltOutput(server, ...words)
const supabase = (...words: string[]) => runSupabase({ folder, token }, ...words)

/** Writes files of the project, by their paths in `supabase`. */
async function write(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, 'supabase', name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
  }
}

const read = (name: string) => readFile(path.join(folder, 'supabase', name), 'utf8')

/** Calls a function, and returns its text, or the status of the error. */
async function call(name: string) {
  const { anonKey, url } = server.access
  const headers = { Authorization: `Bearer ${anonKey}` }
  const response = await fetch(`${url}/functions/v1/${name}`, { headers })
  return response.ok ? response.text() : response.status
}

/** Asks the platform interface itself. */
async function get(place: string) {
  const headers = { Authorization: `Bearer ${token}` }
  const response = await fetch(`${server.access.url}/v1/projects/${ref}${place}`, { headers })
  return response.json() as Promise<unknown>
}

const deployed = async () =>
  ((await get('/functions')) as { slug: string }[]).map(({ slug }) => slug).sort()

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'basalt-linked-'))
  await run(basaltProgram, ['init', folder])
  // The server serves a copy: what the CLI deploys comes from nowhere else.
  const served = await mkdtemp(path.join(tmpdir(), 'basalt-served-'))
  await run('cp', ['-a', `${folder}/.`, served])
  await rm(path.join(served, 'supabase/functions'), { recursive: true })
  await mkdir(path.join(served, 'supabase/snippets'))
  await writeFile(path.join(served, 'supabase/snippets/count.sql'), 'select count(*) from notes')
  // On the port of config.toml, the CLI takes the database for its own stack's, and looks for a container.
  databasePort = await freePort()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const env = {
    BASALT_DATABASE_PORT: '0',
    BASALT_DATABASE_LISTEN: `127.0.0.1:${String(databasePort)}`,
    GOTRUE_SAML_ENABLED: 'true',
    GOTRUE_SAML_PRIVATE_KEY: privateKey.export({ type: 'pkcs1', format: 'der' }).toString('base64'),
  }
  server = await Server.start({ project: served, folders: [served, folder], env })
  ;({ ref, token } = await link(server, folder))
}, 120_000)

describe('the CLI', () => {
  test('finds the server, its project and who it is', async () => {
    expect(await supabase('projects', 'list')).toContain(ref)
    expect(await supabase('orgs', 'list')).toMatch(/local\s+\| Local/)
    expect(await supabase('whoami')).toContain('operator')
    expect(await readFile(path.join(folder, 'supabase/.temp/project-ref'), 'utf8')).toBe(ref)
  })

  test('is told by `basalt status` how a folder is linked', async () => {
    const { binary, dataDir, project, environment } = server
    const flags = ['--project', project, '--data-dir', dataDir]
    const { stderr } = await run(binary, ['status', ...flags], { env: environment })
    const [, lines = ''] = stderr.split('To manage this server with the Supabase CLI:\n')
    expect(lines).toContain(`supabase link --project-ref ${ref}`)
    const another = await mkdtemp(path.join(tmpdir(), 'basalt-linked-'))
    const programs = [path.dirname(binary), path.join(repository, 'node_modules/.bin')]
    const env = {
      ...environment,
      PATH: [...programs, process.env.PATH].join(':'),
      HOME: another,
      BASALT_DATA_DIR: dataDir,
    }
    await run('sh', ['-ec', lines], { cwd: another, env, timeout: 30_000 })
    expect(await readFile(path.join(another, 'supabase/.temp/project-ref'), 'utf8')).toBe(ref)
    await rm(another, { recursive: true })
  })

  test('shows API keys, and secret ones if it is asked to', async () => {
    const { PUBLISHABLE_KEY, SECRET_KEY, ANON_KEY } = await server.status()
    const shown = await supabase('projects', 'api-keys', '--remote')
    expect(shown).toContain(ANON_KEY)
    expect(shown).toContain(PUBLISHABLE_KEY)
    expect(shown).not.toContain(SECRET_KEY)
    expect(await supabase('projects', 'api-keys', '--remote', '--reveal')).toContain(SECRET_KEY)
  })

  test('deploys a function with shared files and an import map, and brings it back', async () => {
    await write(GREETING)
    await supabase('functions', 'deploy', 'greeting', '--use-api', '--remote', '--yes')
    expect(await call('greeting')).toBe('hello Ada, no word')
    expect(await deployed()).toEqual(['greeting'])
    expect(await supabase('functions', 'list', '--remote')).toMatch(/greeting.*ACTIVE \| 1/)
    for (const name of ['greeting', '_shared'])
      await rm(path.join(folder, 'supabase/functions', name), { recursive: true })
    await supabase('functions', 'download', 'greeting', '--remote', '--yes')
    for (const [name, text] of Object.entries(GREETING)) expect(await read(name)).toBe(text)
  })

  test('tells why a function is not deployed', async () => {
    await write({ 'functions/wrong/index.ts': "throw new Error('no way')" })
    const words = ['functions', 'deploy', 'wrong', '--use-api', '--remote', '--yes']
    await expect(supabase(...words)).rejects.toThrow(/no way/)
    expect(await call('wrong')).toBe(404)
    await rm(path.join(folder, 'supabase/functions/wrong'), { recursive: true })
  })

  test('sets secrets, which functions see soon, and removes them', async () => {
    await write(GREETING)
    await supabase('functions', 'deploy', 'greeting', '--use-api', '--remote', '--yes')
    const soon = { timeout: 20_000 }
    await supabase('secrets', 'set', 'WORD=sesame', '--remote', '--yes')
    await expect.poll(() => call('greeting'), soon).toBe('hello Ada, sesame')
    const listed = await supabase('secrets', 'list', '--remote')
    expect(listed).toContain('WORD')
    expect(listed).not.toContain('sesame')
    await supabase('secrets', 'unset', 'WORD', '--remote', '--yes')
    await expect.poll(() => call('greeting'), soon).toBe('hello Ada, no word')
    expect(await get('/secrets')).toEqual([])
  })

  test('deploys all functions at once, removes those that the folder lacks, and deletes one', async () => {
    await write({
      ...GREETING,
      'functions/one/index.ts': "Deno.serve(() => new Response('one'))",
      'functions/two/index.ts': "Deno.serve(() => new Response('two'))",
    })
    await supabase('functions', 'deploy', '--use-api', '--remote', '--yes')
    expect(await deployed()).toEqual(['greeting', 'hello', 'one', 'two'])
    expect([await call('one'), await call('two')]).toEqual(['one', 'two'])
    await rm(path.join(folder, 'supabase/functions/two'), { recursive: true })
    await write({ 'functions/one/index.ts': "Deno.serve(() => new Response('one more'))" })
    await supabase('functions', 'deploy', '--prune', '--use-api', '--remote', '--yes')
    expect(await deployed()).toEqual(['greeting', 'hello', 'one'])
    expect([await call('one'), await call('two')]).toEqual(['one more', 404])
    await supabase('functions', 'delete', 'one', '--remote', '--yes')
    expect(await deployed()).toEqual(['greeting', 'hello'])
    expect(await call('one')).toBe(404)
  })

  test('runs SQL, and only reads if it is told so', async () => {
    const insert = "insert into notes (body) values ('by the CLI') returning body"
    expect(await supabase('db', 'query', '--remote', insert, '--yes')).toContain('by the CLI')
    expect(await server.psql("select count(*) from notes where body = 'by the CLI'")).toBe('1')
    expect(
      await supabase('db', 'query', '--remote', 'select 6 * 7 as answer', '--read-only'),
    ).toMatch(/answer[^]*42/)
    await expect(supabase('db', 'query', '--remote', insert, '--read-only')).rejects.toThrow(
      /read-only/,
    )
    await expect(supabase('db', 'query', '--remote', 'select nope', '--read-only')).rejects.toThrow(
      /column \\*"nope\\*" does not exist/,
    )
  })

  test('describes the database, and what is wrong with it', async () => {
    expect(await supabase('gen', 'types', '--remote')).toMatch(/notes: \{\s+Row: \{/)
    await server.psql(`
      create table public.bare (id int);
      create materialized view public.kept as select 1 as a;
      grant select on public.bare, public.kept to anon`)
    const advice = await supabase('db', 'advisors', '--remote')
    expect(advice).toContain('rls_disabled_in_public')
    expect(advice).toContain('materialized_view_in_api')
    await server.psql('drop table public.bare; drop materialized view public.kept')
  })

  test('lists what there is', async () => {
    expect(await supabase('snippets', 'list', '--remote')).toContain('count')
    expect(await supabase('backups', 'list', '--remote')).toContain('local')
    expect(await supabase('branches', 'list', '--remote')).toContain('GIT BRANCH')
  })

  test('shows logs', async () => {
    await write(GREETING)
    await supabase('functions', 'deploy', 'greeting', '--use-api', '--remote', '--yes')
    await call('greeting')
    await call('nowhere')
    const logs = async (...words: string[]) => {
      const flags = ['--since', '10m', '--output-format', 'json']
      return supabase('logs', '--remote', ...words, ...flags)
    }
    const calls = await logs('--service', 'function-edge')
    expect(calls).toContain('/functions/v1/greeting')
    expect(calls).toContain('/functions/v1/nowhere')
    const refused = await logs('--service', 'function-edge', '--level', 'warn')
    expect(refused).toContain('/functions/v1/nowhere')
    expect(refused).not.toContain('/functions/v1/greeting')
    const all = (await get('/functions')) as { id: string; slug: string }[]
    const id = all.find(({ slug }) => slug === 'greeting')?.id ?? ''
    const own = await logs('--service', 'function-edge', '--resource', id)
    expect(own).not.toContain('/functions/v1/nowhere')
    expect(own).toContain('/functions/v1/greeting')
    await expect(supabase('db', 'query', '--remote', 'select lanterns', '--yes')).rejects.toThrow()
    expect(await logs('--service', 'postgres', '--search', 'LANTERNS')).toContain('lanterns')
    const sql = "select count() as n from logs where source = 'edge_logs'"
    expect(await logs('--sql', sql)).toMatch(/"n"/)
    await expect(logs('--sql', 'select nothing from logs')).rejects.toThrow(/nothing/)
    // Without a service, it asks for all.
    expect(await supabase('logs', '--remote', '--output-format', 'text')).toContain('nowhere')
  })

  test('adds, shows, changes and removes identity providers', async () => {
    await writeFile(path.join(folder, 'idp.xml'), identityProvider('ships.example'))
    const flags = ['--metadata-file', path.join(folder, 'idp.xml'), '--domains', 'ships.example']
    await supabase('sso', 'add', '--type', 'saml', ...flags, '--yes')
    expect(await supabase('sso', 'list')).toContain('ships.example')
    const { items } = (await get('/config/auth/sso/providers')) as { items: { id: string }[] }
    const id = items[0]?.id ?? ''
    expect(await supabase('sso', 'show', id)).toContain('https://ships.example/metadata')
    await supabase('sso', 'update', id, '--add-domains', 'boats.example', '--yes')
    expect(await supabase('sso', 'list')).toContain('boats.example')
    await supabase('sso', 'remove', id, '--yes')
    expect(await get('/config/auth/sso/providers')).toEqual({ items: [] })
    await expect(supabase('sso', 'show', id)).rejects.toThrow(/could not be found|404/)
  })

  test('compares the settings', async () => {
    await write({ 'config.toml': '[api]\nmax_rows = 17\n' })
    const said = await supabase('config', 'diff', '--remote')
    expect(said).toMatch(/api\.max_rows[^]*17/)
  })

  test('pushes the settings of a new project, and changes of them', async () => {
    await supabase('init', '--force')
    const plain = await read('config.toml')
    await supabase('config', 'push', '--remote', '--yes')
    const changed = plain
      .replace('max_rows = 1000', 'max_rows = 17')
      .replace('enable_signup = true', 'enable_signup = false')
      .replace('file_size_limit = "50MiB"', 'file_size_limit = "1MiB"').concat(`
[auth.external.github]
enabled = true
client_id = "an-id"
secret = "a-secret"
[auth.email.smtp]
enabled = true
host = "smtp.example.com"
port = 587
user = "user"
pass = "a-password"
admin_email = "admin@example.com"
sender_name = "Admin"
[auth.email.template.invite]
subject = "Come in"
content_path = "./supabase/templates/invite.html"
`)
    await write({
      'config.toml': changed,
      'templates/invite.html': '<p>{{ .ConfirmationURL }}</p>',
    })
    await supabase('config', 'push', '--remote', '--yes')
    expect(await get('/postgrest')).toMatchObject({ max_rows: 17 })
    expect(await get('/config/storage')).toMatchObject({ fileSizeLimit: 1024 * 1024 })
    expect(await get('/config/auth')).toMatchObject({
      disable_signup: true,
      external_github_client_id: 'an-id',
      mailer_templates_invite_content: '<p>{{ .ConfirmationURL }}</p>',
      smtp_host: 'smtp.example.com',
    })
    const { anonKey, url } = server.access
    const refused = await fetch(`${url}/auth/v1/signup`, {
      method: 'POST',
      headers: { apikey: anonKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'a@example.com', password: 'a good password' }),
    })
    expect(await refused.json()).toMatchObject({ error_code: 'signup_disabled' })

    // There is nothing left to do.
    const again = await supabase('config', 'push', '--remote', '--yes')
    for (const service of ['API', 'DB', 'Storage'])
      expect(again).toContain(`Remote ${service} config is up to date.`)
    expect(again).not.toContain('Would update')
    const said = await supabase('config', 'diff', '--remote')
    expect(said).not.toMatch(/^(api|auth|storage)\S* \[update\]/m)

    await write({ 'config.toml': plain })
    await supabase('config', 'pull', '--remote', '--yes', '--force')
    const pulled = await read('config.toml')
    expect(pulled).toContain('max_rows = 17')
    expect(pulled).toContain('file_size_limit = "1MiB"')
    expect(await basalt('settings', 'list')).toMatch(/^auth\.email\.smtp\.pass = \(secret\)/m)
    await basalt('settings', 'reset', '--all')
  })

  test('changes settings of Postgres, with a restart where it needs one', async () => {
    const shown = async (name: string) => (await server.psql(`show ${name}`)).trim()
    expect(await supabase('postgres-config', 'get', '--experimental')).not.toContain('work_mem')
    const [work, buffers] = [await shown('work_mem'), await shown('shared_buffers')]
    const update = ['postgres-config', 'update', '--experimental', '--yes']
    await supabase(...update, '--config', 'work_mem=7MB', '--config', 'max_connections=150')
    expect([await shown('work_mem'), await shown('max_connections')]).toEqual(['7MB', '150'])
    expect(await supabase('postgres-config', 'get', '--experimental')).toMatch(/work_mem[^]*7MB/)

    await supabase(...update, '--no-restart', '--config', 'shared_buffers=64MB')
    expect(await get('/config/database/postgres')).toEqual({
      work_mem: '7MB',
      max_connections: 150,
      shared_buffers: '64MB',
    })
    expect(await shown('shared_buffers')).toBe(buffers)

    const plain = await read('config.toml')
    const settings = '\n[db.settings]\nwork_mem = "9MB"\nstatement_timeout = "90s"\n'
    await write({ 'config.toml': plain + settings })
    await supabase('config', 'push', '--remote', '--yes')
    await write({ 'config.toml': plain })
    expect([await shown('work_mem'), await shown('statement_timeout')]).toEqual(['9MB', '90s'])

    const remove = ['postgres-config', 'delete', '--experimental', '--yes']
    await supabase(...remove, '--config', 'work_mem,statement_timeout')
    expect([await shown('work_mem'), await shown('statement_timeout')]).toEqual([work, '0'])
  })

  test('works on the database by its URL', async () => {
    const { DB_URL = '' } = await server.status()
    const remote = `--remote=${DB_URL}`
    const [version = ''] = (
      await server.psql('select version from supabase_migrations.schema_migrations')
    ).split('\n')
    expect(await supabase('migration', 'list', remote)).toContain(version)
    const history = () => server.psql('select count(*) from supabase_migrations.schema_migrations')
    await supabase('migration', 'repair', remote, '--status', 'reverted', version, '--yes')
    expect(await history()).toBe('0')
    await supabase('migration', 'repair', remote, '--status', 'applied', version, '--yes')
    expect(await history()).toBe('1')
    await rm(path.join(folder, 'supabase/migrations'), { recursive: true })
    await supabase('migration', 'fetch', remote, '--yes')
    await access(path.join(folder, 'supabase/migrations', `${version}_notes.sql`))
    await write({
      'migrations/20300101000000_shelves.sql': 'create table public.shelves (id int);',
    })
    await supabase('db', 'push', remote, '--yes')
    expect(await server.psql("select to_regclass('public.shelves')")).toBe('shelves')
    expect(await supabase('inspect', 'db', 'table-stats', remote)).toContain('public.notes')
    // Both ways lead to one history.
    expect(await get('/database/migrations')).toContainEqual({
      version: '20300101000000',
      name: 'shelves',
    })
  })

  test('pushes event triggers and what else only a superuser may do', async () => {
    const port = `postgresql://postgres:postgres@127.0.0.1:${String(databasePort)}/postgres`
    const push = () => supabase('db', 'push', `--remote=${port}?sslmode=require`, '--yes')
    await write({
      'migrations/20300102000000_watch.sql': `
        create table public.seen (tag text);
        create function public.see() returns event_trigger language plpgsql security definer
          as $$ begin insert into public.seen values (tg_tag); end $$;
        -- Whatever creates a view.
        create event trigger watch on ddl_command_end when tag in ('CREATE VIEW')
          execute function public.see();
        create publication everything for all tables;
        create extension if not exists hstore with schema extensions;
        comment on extension hstore is 'Keys; and "values"';
        create view public.known as select tag from public.seen;
        alter event trigger watch disable;
        create view public.unseen as select tag from public.seen;`,
    })
    await push()
    expect(await server.psql('select tag from public.seen')).toBe('CREATE VIEW')
    const published = 'select pubname from pg_publication where puballtables'
    expect(await server.psql(published)).toBe('everything')
    const comment = "select obj_description(oid) from pg_extension where extname = 'hstore'"
    expect(await server.psql(comment)).toBe('Keys; and "values"')

    const others = 'migrations/20300103000000_others.sql'
    await write({ [others]: 'drop publication everything; drop event trigger pgrst_ddl_watch;' })
    await expect(push()).rejects.toThrow(/must be owner of event trigger pgrst_ddl_watch/)
    expect(await server.psql(published)).toBe('everything')
    await rm(path.join(folder, 'supabase', others))
  })

  test('is told what its token may not do', async () => {
    const everything = token
    try {
      token = await basalt('token', 'create', '--scopes', 'read-only')
      expect(await supabase('functions', 'list', '--remote')).toContain('greeting')
      await expect(supabase('secrets', 'set', 'WORD=sesame', '--remote', '--yes')).rejects.toThrow(
        /edge_functions_secrets_write|403|Forbidden/i,
      )
      token = `sbp_${'0'.repeat(40)}`
      await expect(supabase('projects', 'list')).rejects.toThrow(/401|Unauthorized/i)
    } finally {
      token = everything
    }
  })
})
