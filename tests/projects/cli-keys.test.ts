// The stock Supabase CLI's commands that have the keys of its own local stacks built in, against a server with these keys.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { beforeAll, expect, test } from 'vitest'

import { Server } from '../support/server.mjs'

const run = promisify(execFile)
const program = path.resolve(import.meta.dirname, '../../node_modules/.bin/supabase')

let folder: string
let server: Server

/** Runs the CLI and returns what it prints. */
async function supabase(...words: string[]) {
  const running = run(program, words, {
    cwd: folder,
    timeout: 60_000,
    env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', DO_NOT_TRACK: '1', CI: '1' },
  })
  running.child.stdin?.end()
  return (await running).stdout
}

/** Returns a port that nothing listens on. */
async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'basalt-cli-keys-'))
  const port = await freePort()
  const bucket = '[storage.buckets.papers]\npublic = true\nobjects_path = "./papers"\n'
  const config = `project_id = "keys"\n[api]\nport = ${String(port)}\n${bucket}`
  await mkdir(path.join(folder, 'supabase/papers'), { recursive: true })
  await writeFile(path.join(folder, 'supabase/config.toml'), config)
  await writeFile(path.join(folder, 'supabase/papers/a.txt'), 'a paper')
  const env = { BASALT_CLI_KEYS: 'true' }
  server = await Server.start({ project: folder, folders: [folder], port, env })
}, 120_000)

test('the CLI seeds buckets, and copies, lists and removes objects', async () => {
  await supabase('seed', 'buckets', '--yes')
  const experimental = '--experimental'
  expect(await supabase('storage', 'ls', '-r', 'ss:///papers', experimental)).toContain('a.txt')
  await supabase('storage', 'cp', 'supabase/papers/a.txt', 'ss:///papers/b.txt', experimental)
  const { url } = server.access
  const copied = await fetch(`${url}/storage/v1/object/public/papers/b.txt`)
  expect(await copied.text()).toBe('a paper')
  await supabase('storage', 'rm', 'ss:///papers/b.txt', experimental, '--yes')
  expect(await supabase('storage', 'ls', 'ss:///papers/', experimental)).not.toContain('b.txt')
})

test('a token of the CLI is one of the server', async () => {
  const printed = await supabase('gen', 'bearer-jwt', '--role', 'service_role')
  const token = printed.trim().split('\n').at(-1) ?? ''
  const headers = { apikey: server.access.anonKey, authorization: `Bearer ${token}` }
  const response = await fetch(`${server.access.url}/storage/v1/bucket`, { headers })
  expect(await response.json()).toMatchObject([{ id: 'papers' }])
})
