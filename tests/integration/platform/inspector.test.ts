// The stock inspector of the Model Context Protocol lists the tools, and calls each of them.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform, saying } from './support.ts'

const run = promisify(execFile)

const packages = path.resolve(import.meta.dirname, '../../inspector/node_modules')
// It needs a newer Node.js than the other tests.
const node = path.join(packages, `node-${process.platform}-${process.arch}`, 'bin/node')
const inspector = path.join(
  packages,
  '@modelcontextprotocol/inspector/clients/launcher/build/index.js',
)

// scripts/test installs it; in CI it must be there.
const isThere = existsSync(node) || process.env.CI === 'true'

/** How long a command of the inspector may take, in milliseconds. */
const COMMAND_LIMIT = 30_000

/** The end of a command whose tool answers with an error. */
const TOOL_FAILED = 5

/** All groups of tools: storage is off without being asked for. */
const GROUPS = 'account,database,debugging,development,docs,functions,storage'

/** A call: the arguments beside the project, and what its text says. */
type Call = [args: Record<string, unknown>, says: RegExp]

/** Calls of all tools, in an order in which they succeed. */
const CALLS: Record<string, Call> = {
  search_docs: [
    { graphql_query: '{ searchDocs(query: "backups") { nodes { title } } }' },
    /Backup/,
  ],
  list_organizations: [{}, /local/],
  get_organization: [{ id: 'local' }, /local/],
  list_projects: [{}, /ACTIVE_HEALTHY/],
  get_project: [{ id: '$REF' }, /ACTIVE_HEALTHY/],
  get_cost: [{ type: 'project', organization_id: 'local' }, /0/],
  confirm_cost: [{ type: 'project', recurrence: 'monthly', amount: 0 }, /confirmation_id/],
  apply_migration: [{ name: 'colours', query: 'create table colours (id int)' }, /success/],
  list_tables: [{ schemas: ['public'], verbose: true }, /colours/],
  list_extensions: [{}, /pgcrypto/],
  list_migrations: [{}, /colours/],
  execute_sql: [{ query: 'select 40 + 2 as answer' }, /42/],
  get_logs: [{ service: 'postgres' }, /result/],
  query_logs: [
    { sql: "select source, event_message from logs where source = 'postgres_logs' limit 1" },
    /"source\\*":\\*"postgres_logs/,
  ],
  get_advisors: [{ type: 'security' }, /rls_disabled_in_public/],
  get_project_url: [{}, /http/],
  get_publishable_keys: [{}, /sb_publishable_/],
  generate_typescript_types: [{}, /colours: \{/],
  deploy_edge_function: [
    { name: 'hello', files: [{ name: 'index.ts', content: saying('hello') }] },
    /"version":1/,
  ],
  list_edge_functions: [{}, /hello/],
  get_edge_function: [{ function_slug: 'hello' }, /Deno\.serve/],
  list_storage_buckets: [{}, /\[/],
  get_storage_config: [{}, /fileSizeLimit/],
  update_storage_config: [
    {
      config: {
        fileSizeLimit: 1_000_000,
        features: { imageTransformation: { enabled: true }, s3Protocol: { enabled: true } },
      },
    },
    /success/,
  ],
}

/** Calls of what a server that is one project does not do, and what it says. */
const REFUSED: Record<string, Call> = {
  create_project: [
    { name: 'another', region: 'local', organization_id: 'local', confirm_cost_id: 'x' },
    /project/,
  ],
  pause_project: [{}, /paused/],
  restore_project: [{}, /paused/],
}

/** The tools that are not called for a project. */
const WITHOUT_PROJECT = new Set([
  'search_docs',
  'list_organizations',
  'get_organization',
  'list_projects',
  'get_project',
  'get_cost',
  'confirm_cost',
  'create_project',
])

/** What the inspector prints of a tool's answer. */
interface Result {
  content: { type: string; text: string }[]
  isError?: boolean
}

describe.skipIf(inject('own') === null || !isThere)('the inspector', () => {
  let platform: Platform
  let home: string

  beforeAll(async () => {
    platform = await Platform.start()
    home = await mkdtemp(path.join(tmpdir(), 'basalt-inspector-'))
  })

  /** Runs it, and returns what it prints with its exit status. */
  async function inspect(...words: string[]) {
    const server = [`${platform.url}/mcp?features=${GROUPS}`, '--transport', 'http']
    const token = ['--header', `Authorization: Bearer ${platform.token}`]
    const running = run(node, [inspector, '--cli', ...server, ...token, ...words], {
      env: { PATH: process.env.PATH, HOME: home },
      timeout: COMMAND_LIMIT,
      maxBuffer: 1 << 24,
    })
    const { stdout, code } = await running.then(
      (ended) => ({ ...ended, code: 0 }),
      (error: unknown) => error as { stdout: string; code: number },
    )
    return { printed: JSON.parse(stdout.trim()) as unknown, code }
  }

  async function call(tool: string, [args]: Call) {
    const project = WITHOUT_PROJECT.has(tool) ? {} : { project_id: '$REF' }
    const given = Object.entries({ ...project, ...args })
    const pairs = given.map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return `${name}=${text.replace('$REF', platform.ref)}`
    })
    const flags = pairs.length > 0 ? ['--tool-arg', ...pairs] : []
    const { printed, code } = await inspect('--method', 'tools/call', '--tool-name', tool, ...flags)
    const { content } = printed as Result
    return { code, text: content[0]?.text ?? '' }
  }

  test('lists all tools, and finds their schemas portable', async () => {
    const { printed, code } = await inspect('--method', 'tools/list', '--strict')
    const { tools } = printed as { tools: { name: string }[] }
    expect(code).toBe(0)
    const called = [...Object.keys(CALLS), ...Object.keys(REFUSED)]
    expect(tools.map(({ name }) => name).sort()).toEqual(called.sort())
  })

  test.each(Object.entries(CALLS))('calls %s', async (tool, arranged) => {
    const { code, text } = await call(tool, arranged)
    expect({ code, text }).toMatchObject({ code: 0 })
    expect(text).toMatch(arranged[1])
  })

  test.each(Object.entries(REFUSED))('is told why %s does nothing', async (tool, arranged) => {
    const { code, text } = await call(tool, arranged)
    expect({ code, text }).toMatchObject({ code: TOOL_FAILED })
    expect(text).toMatch(arranged[1])
  })
})
