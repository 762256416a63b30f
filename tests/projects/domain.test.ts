// The stock Supabase CLI on a linked project whose server has a domain. What it does over the platform interface alone is
// in platform.test.ts; here is what it looks for at the project's own names, on the ports that it assumes.

import { execFile, execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)

const DOMAIN = 'shop.test'
const script = path.resolve(import.meta.dirname, 'domain/commands.mjs')

/** The program that gives a command namespaces of its own, which needs root or its like. */
const [unshare, ...words] = ['unshare', '--mount', '--net'] as const

function isAllowed() {
  try {
    execFileSync(unshare, [...words, 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** What the script reports. */
interface Report {
  printed: Record<string, string>
  downloaded: string
  stored: string
  left: string
  tables: string
  watches: string
}

describe.skipIf(!isAllowed())('the CLI on a linked project with a domain', () => {
  let folder: string
  let report: Report

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-domain-'))
    const names = `subjectAltName=DNS:${DOMAIN},DNS:*.${DOMAIN}`
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const out = [
      '-keyout',
      path.join(folder, 'domain.key'),
      '-out',
      path.join(folder, 'domain.pem'),
    ]
    const subject = ['-days', '2', '-subj', `/CN=${DOMAIN}`, '-addext', names]
    execFileSync('openssl', ['req', '-x509', ...key, ...subject, ...out], { stdio: 'ignore' })
    const files = {
      'served/supabase/config.toml': 'project_id = "served"',
      'linked/supabase/config.toml': 'project_id = "linked"',
      'linked/supabase/migrations/20300101000000_shelves.sql': `
        create table public.shelves (id int);
        create function public.nothing() returns event_trigger language plpgsql as 'begin end';
        create event trigger watch on ddl_command_end execute function public.nothing();`,
      'linked/up.txt': 'hello\n',
    }
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.join(folder, path.dirname(name)), { recursive: true })
      await writeFile(path.join(folder, name), text)
    }
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: path.join(folder, 'domain.pem') }
    const command = [...words, process.execPath, script, folder, DOMAIN]
    const { stdout } = await run(unshare, command, { env, timeout: 150_000 })
    report = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  const printedBy = (beginning: string) =>
    Object.entries(report.printed).find(([command]) => command.startsWith(beginning))?.[1]

  test('uploads, lists, downloads, moves and removes objects', () => {
    expect(printedBy('storage ls')).toContain('up.txt')
    expect(report.downloaded).toBe('hello\n')
    expect(report.stored).toBe('moved.txt')
    expect(report.left).toBe('0')
  })

  test('pushes migrations to the database, lists them, and resets it', () => {
    expect(printedBy('db push')).toContain('20300101000000_shelves.sql')
    expect(printedBy('migration list')).toContain('20300101000000')
    expect(printedBy('migration repair')).toContain('20300101000000')
    // With the files that `migration fetch` has brought.
    expect(printedBy('db reset')).toContain('20300101000000_shelves.sql')
    expect(report.tables).toBe('shelves')
    expect(report.watches).toBe('nothing')
  })

  test('shows and changes who may reach the database', () => {
    expect(printedBy('network-restrictions get')).toContain('127.0.0.0/8')
    expect(printedBy('network-bans get')).toBeDefined()
    expect(printedBy('ssl-enforcement get')).toMatch(/SSL/i)
  })

  test('inspects the database, generates its types, and shows logs', () => {
    expect(printedBy('inspect')).toContain('public.shelves')
    expect(printedBy('gen types typescript')).toContain('shelves: {')
    expect(printedBy('gen types --lang go')).toContain('type PublicShelvesSelect struct')
    expect(printedBy('logs')).toContain('/storage/v1/object')
  })
})
