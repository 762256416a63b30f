// Supabase's own server of the Model Context Protocol, started as an agent starts it: it asks the platform interface.

import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { service } from '../../support/notes.ts'
import { end, forget, track } from '../../support/programs.mjs'
import { Platform, saying } from './support.ts'

const program = path.resolve(
  import.meta.dirname,
  '../../inspector/node_modules/@supabase/mcp-server-supabase/dist/cli.js',
)

// scripts/test installs it; in CI it must be there.
const isThere = existsSync(program) || process.env.CI === 'true'

/** All groups of tools except those for documentation, which Supabase's website has, and branches. */
const GROUPS = 'account,database,debugging,development,functions,storage'

/** How long it may take to end before it is killed, in milliseconds. */
const STOP_LIMIT = 5_000

/** A message of JSON-RPC that answers one. */
interface Reply {
  id: number
  result?: unknown
  error?: { code: number; message: string }
}

/** What a tool answers. */
interface Result {
  content: { type: string; text: string }[]
  isError?: boolean
}

/** A table as it is listed. */
interface Table {
  name: string
  rls_enabled: boolean
  rows: number
  primary_keys: string[]
  columns: { name: string; data_type: string }[]
}

/** What tools answer, as far as tests read it. */
interface Answers {
  [tool: string]: unknown
  list_tables: { tables: Table[] }
  list_extensions: { extensions: { name: string; installed_version: string | null }[] }
  list_projects: { projects: { id: string }[] }
  get_advisors: { result: { lints: { name: string; findings: object[] }[] } }
  execute_sql: { result: string }
  query_logs: { result: string }
  generate_typescript_types: { types: string }
}

/** The program while it runs. */
class Agent {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #waiting = new Map<number, (reply: Reply) => void>()
  readonly initialization: Promise<unknown>
  #numbers = 0

  constructor(...flags: string[]) {
    this.#child = spawn(process.execPath, [program, ...flags], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    track(this.#child, () => this.stop())
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const reply = JSON.parse(line) as Reply
      this.#waiting.get(reply.id)?.(reply)
    })
    const clientInfo = { name: 'test', version: '1.0.0' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    this.initialization = this.ask('initialize', params).then((result) => {
      this.#send({ method: 'notifications/initialized' })
      return result
    })
  }

  #send(message: object) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** Sends a request, and returns its result. */
  async ask(method: string, params: object) {
    const id = ++this.#numbers
    const replied = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve))
    this.#send({ id, method, params })
    const { result, error } = await replied
    expect({ method, error }).toEqual({ method, error: undefined })
    return result
  }

  /** Returns the names of the tools. */
  async tools() {
    await this.initialization
    const { tools } = (await this.ask('tools/list', {})) as { tools: { name: string }[] }
    return tools.map(({ name }) => name).sort()
  }

  async #call(name: string, args: object) {
    await this.initialization
    const result = (await this.ask('tools/call', { name, arguments: args })) as Result
    const value: unknown = JSON.parse(result.content[0]?.text ?? 'null')
    return { isError: result.isError ?? false, value }
  }

  /** Calls a tool, which has to succeed. */
  async call<N extends string>(name: N, args: object = {}) {
    const { isError, value } = await this.#call(name, args)
    expect({ name, isError, value }).toMatchObject({ name, isError: false })
    return value as Answers[N]
  }

  /** Calls a tool, which has to fail, and returns what it says. */
  async fail(name: string, args: object = {}) {
    const { isError, value } = await this.#call(name, args)
    expect({ name, isError, value }).toMatchObject({ name, isError: true })
    return (value as { error: { message: string } }).error.message
  }

  /** Returns the rows of a query. */
  async rows(query: string): Promise<unknown> {
    return data((await this.call('execute_sql', { query })).result)
  }

  /** Returns what a query of the last day's logs answers. */
  async logs(sql: string): Promise<unknown> {
    return data((await this.call('query_logs', { sql })).result)
  }

  async stop() {
    await end(this.#child, 'SIGTERM', STOP_LIMIT)
    forget(this.#child)
  }
}

/** Returns what is between the marks of data that nobody should take orders from. */
function data(text: string): unknown {
  const [, , inside = 'null'] = /\n<(untrusted-data-[\da-f-]+)>\n([^]*)\n<\/\1>\n/.exec(text) ?? []
  return JSON.parse(inside)
}

const TOOLS_THAT_READ = [
  'execute_sql',
  'generate_typescript_types',
  'get_advisors',
  'get_edge_function',
  'get_project_url',
  'get_publishable_keys',
  'get_storage_config',
  'list_edge_functions',
  'list_extensions',
  'list_migrations',
  'list_storage_buckets',
  'list_tables',
  'query_logs',
]

describe.skipIf(inject('own') === null || !isThere)('Supabase’s own MCP server', () => {
  let platform: Platform
  let agent: Agent

  /** Starts one more, with further flags. */
  const start = (...flags: string[]) => {
    const server = ['--api-url', platform.url, '--features', GROUPS]
    return new Agent(...server, ...flags)
  }

  beforeAll(async () => {
    platform = await Platform.start()
    await platform.server.psql(`
      create table public.lamps (id bigint primary key, name text not null);
      insert into public.lamps values (1, 'floor'), (2, 'desk');
      notify pgrst, 'reload schema'`)
    agent = start('--access-token', platform.token, '--project-ref', platform.ref)
  })

  test('starts, and lists its tools for one project', async () => {
    expect(await agent.initialization).toMatchObject({
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'supabase', version: '0.13.0' },
    })
    const change = ['apply_migration', 'deploy_edge_function', 'update_storage_config']
    expect(await agent.tools()).toEqual([...change, ...TOOLS_THAT_READ].sort())
  })

  test('lists tables and extensions', async () => {
    const { tables } = await agent.call('list_tables', { schemas: ['public'], verbose: true })
    const lamps = tables.find(({ name }) => name === 'public.lamps')
    expect(lamps).toMatchObject({ rls_enabled: false, rows: 2, primary_keys: ['id'] })
    expect(lamps?.columns.map(({ name, data_type }) => [name, data_type])).toEqual([
      ['id', 'bigint'],
      ['name', 'text'],
    ])
    const { extensions } = await agent.call('list_extensions')
    expect(extensions.find(({ name }) => name === 'plpgsql')?.installed_version).toBe('1.0')
  })

  test('runs SQL, and passes on what Postgres says of SQL that is wrong', async () => {
    const sql = 'insert into public.lamps values (3, $$bed$$) returning id, name'
    expect(await agent.rows(sql)).toEqual([{ id: 3, name: 'bed' }])
    expect(await platform.server.psql('select count(*) from public.lamps')).toBe('3')
    const message = await agent.fail('execute_sql', { query: 'select * from public.nothing' })
    expect(message).toContain('relation "public.nothing" does not exist')
  })

  test('applies migrations, and lists them', async () => {
    const query = 'create table public.shades (id int primary key)'
    const applied = await agent.call('apply_migration', { name: 'add_shades', query })
    expect(applied).toEqual({ success: true })
    expect(await agent.call('list_migrations')).toEqual({
      migrations: [{ name: 'add_shades', version: expect.stringMatching(/^\d{14}$/) as string }],
    })
    expect(await platform.server.psql("select to_regclass('public.shades')")).toBe('shades')
    const broken = { name: 'broken', query: 'create table public.half (a int); select 1 / 0' }
    expect(await agent.fail('apply_migration', broken)).toContain('division by zero')
  })

  test('gives advice', async () => {
    await platform.server.psql(`
      create table public.bulbs (lamp bigint references public.lamps);
      alter table public.bulbs enable row level security`)
    const security = await agent.call('get_advisors', { type: 'security' })
    const open = security.result.lints.find(({ name }) => name === 'rls_disabled_in_public')
    expect(JSON.stringify(open?.findings)).toContain('lamps')
    expect(JSON.stringify(open?.findings)).not.toContain('bulbs')
    const performance = await agent.call('get_advisors', { type: 'performance' })
    const slow = performance.result.lints.find(({ name }) => name === 'unindexed_foreign_keys')
    expect(JSON.stringify(slow?.findings)).toContain('bulbs')
  })

  test('reads logs', async () => {
    const headers = { apikey: platform.server.access.anonKey }
    await fetch(`${platform.url}/rest/v1/lamps_of_the_log`, { headers })
    const sql = `
      select log_attributes['request.path'] as path, log_attributes['response.status_code'] as status
        from logs where source = 'edge_logs' and event_message like '%lamps_of_the_log%'`
    const row = { path: '/rest/v1/lamps_of_the_log', status: '404' }
    await expect.poll(() => agent.logs(sql)).toEqual({ result: [row] })
    // The tool is not listed, and agents that know it call it.
    const { result } = (await agent.call('get_logs', { service: 'api' })) as { result: string }
    expect(JSON.stringify(data(result))).toContain('lamps_of_the_log')
  })

  test('writes types for TypeScript', async () => {
    const { types } = await agent.call('generate_typescript_types')
    expect(types).toMatch(/lamps: \{\s+Row: \{\s+id: number\s+name: string\s+\}/)
    expect(types).toContain('export type Database')
  })

  test('deploys functions, and reads them', async () => {
    const content = "import { text } from './text.ts'\nDeno.serve(() => new Response(text))\n"
    const files = [
      { name: 'index.ts', content },
      { name: 'text.ts', content: "export const text = 'lit'\n" },
    ]
    const deployed = await agent.call('deploy_edge_function', { name: 'lamp', files })
    expect(deployed).toMatchObject({ slug: 'lamp', status: 'ACTIVE', version: 1, verify_jwt: true })
    expect(await platform.call('lamp')).toEqual({ status: 200, text: 'lit' })
    expect(await platform.call('lamp', '')).toMatchObject({ status: 401 })
    const shown = { slug: 'lamp', status: 'ACTIVE', version: 1, entrypoint_path: 'index.ts' }
    expect(await agent.call('list_edge_functions')).toMatchObject({ functions: [shown] })
    const one = await agent.call('get_edge_function', { function_slug: 'lamp' })
    expect(one).toMatchObject(shown)
    const read = (one as { files: { name: string }[] }).files
    expect(read.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual(files)

    const open = [{ name: 'index.ts', content: saying('for all') }]
    const again = { name: 'lamp', verify_jwt: false, files: open }
    expect(await agent.call('deploy_edge_function', again)).toMatchObject({ version: 2 })
    expect(await platform.call('lamp', '')).toEqual({ status: 200, text: 'for all' })
    const broken = [{ name: 'index.ts', content: 'throw new Error("not today")' }]
    const refused = await agent.fail('deploy_edge_function', { name: 'lamp', files: broken })
    expect(refused).toContain('not today')
    expect(await agent.fail('get_edge_function', { function_slug: 'nobody' })).not.toBe('')
  })

  test('tells the public keys, and no secret ones', async () => {
    const found = await agent.call('get_publishable_keys')
    const status = await platform.server.status()
    expect(found).toMatchObject({
      keys: [
        { api_key: status.ANON_KEY, name: 'anon', type: 'legacy' },
        { api_key: status.PUBLISHABLE_KEY, name: 'default', type: 'publishable' },
      ],
    })
    for (const secret of [status.SECRET_KEY, status.SERVICE_ROLE_KEY])
      expect(JSON.stringify(found)).not.toContain(secret)
  })

  test('lists buckets, and reads and changes the settings of storage', async () => {
    const { storage } = service(platform.server.access)
    expect((await storage.createBucket('photographs', { public: true })).error).toBeNull()
    const { buckets } = (await agent.call('list_storage_buckets')) as { buckets: object[] }
    expect(buckets).toMatchObject([{ id: 'photographs', name: 'photographs', public: true }])
    const switches = { imageTransformation: { enabled: true }, s3Protocol: { enabled: true } }
    const config = { fileSizeLimit: 1_234_567, features: switches }
    expect(await agent.call('update_storage_config', { config })).toEqual({ success: true })
    expect(await agent.call('get_storage_config')).toMatchObject(config)
  })

  test('changes nothing in its mode that only reads', async () => {
    const token = ['--access-token', platform.token]
    const reader = start(...token, '--project-ref', platform.ref, '--read-only')
    expect(await reader.tools()).toEqual(TOOLS_THAT_READ)
    const count = 'select count(*)::int as n from public.lamps'
    const before = await reader.rows(count)
    for (const [query, says] of [
      ["insert into public.lamps values (9, 'no')", 'read-only transaction'],
      ['create table public.no (id int)', 'read-only transaction'],
      ["commit; insert into public.lamps values (9, 'no')", 'may not control its transaction'],
    ] as const)
      expect(await reader.fail('execute_sql', { query })).toContain(says)
    expect(await reader.rows(count)).toEqual(before)
    expect(await platform.server.psql("select to_regclass('public.no') is null")).toBe('t')
    for (const [name, args] of [
      ['apply_migration', { name: 'no', query: 'create table public.no (id int)' }],
      ['deploy_edge_function', { name: 'no', files: [{ name: 'index.ts', content: saying('') }] }],
    ] as const)
      expect(await reader.fail(name, args)).toContain('read-only mode')
    expect(await platform.listed('no')).toBeUndefined()
    await reader.stop()
  })

  test('may do no more than its token', async () => {
    const token = await platform.createToken('--name', 'reader', '--scopes', 'read-only')
    const reader = start('--access-token', token, '--project-ref', platform.ref)
    expect(await reader.call('list_migrations')).toMatchObject({ migrations: [{}] })
    const query = "insert into public.lamps values (10, 'no')"
    expect(await reader.fail('execute_sql', { query })).toMatch(/scope/)
    const migration = { name: 'no', query: 'create table public.no (id int)' }
    expect(await reader.fail('apply_migration', migration)).toMatch(/scope/)
    expect(await platform.server.psql('select count(*) from public.lamps where id = 10')).toBe('0')
    await reader.stop()
    const stranger = start('--access-token', `sbp_${'0'.repeat(40)}`, '--project-ref', platform.ref)
    expect(await stranger.fail('list_tables', { schemas: ['public'] })).toMatch(
      /Unauthorized|token/,
    )
    await stranger.stop()
  })

  test('finds the project of the server by itself', async () => {
    const account = start('--access-token', platform.token)
    const { projects } = await account.call('list_projects')
    expect(projects).toMatchObject([{ id: platform.ref, status: 'ACTIVE_HEALTHY' }])
    const found = await account.call('get_project', { id: platform.ref })
    expect(found).toMatchObject({ id: platform.ref, status: 'ACTIVE_HEALTHY' })
    expect(JSON.stringify(await account.call('list_organizations'))).toContain('local')
    const one = { project_id: platform.ref, query: 'select 40 + 2 as answer' }
    const { result } = await account.call('execute_sql', one)
    expect(data(result)).toEqual([{ answer: 42 }])
    const another = { project_id: 'aaaaaaaaaaaaaaaaaaaa', query: 'select 1' }
    expect(await account.fail('execute_sql', another)).not.toBe('')
    await account.stop()
  })
})
