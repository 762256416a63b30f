import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import type { RealtimeChannel } from '@supabase/supabase-js'
import { beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { connect } from '../support/client.ts'
import { Server } from '../support/server.mjs'

/** Settings that differ from one reading to the next. */
interface Changeable {
  rows: number
  passwordLength: number
  fileSize: string
  greeting: string
}

/** The project's tables. */
interface Schema {
  public: {
    Tables: {
      numbers: { Row: { id: number }; Insert: never; Update: never; Relationships: [] }
    }
    Views: Record<string, never>
    Functions: Record<string, never>
  }
}

/** How often the settings change under load. */
const changes = 6

const config = ({ rows, passwordLength, fileSize, greeting }: Changeable) => `
project_id = "changed-settings"
[api]
max_rows = ${String(rows)}
[auth]
minimum_password_length = ${String(passwordLength)}
[auth.email]
enable_confirmations = false
[storage]
file_size_limit = "${fileSize}"
[edge_runtime.secrets]
GREETING = "${greeting}"
`

const greet = `Deno.serve(() => new Response(Deno.env.get('GREETING')))`

describe.skipIf(inject('own') === null)('settings that are read again on SIGHUP', () => {
  let server: Server
  let folder: string
  let log = ''
  let current: Changeable = { rows: 5, passwordLength: 6, fileSize: '1KiB', greeting: 'hello' }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-changed-'))
    await mkdir(path.join(folder, 'supabase/functions/greet'), { recursive: true })
    await writeFile(path.join(folder, 'supabase/functions/greet/index.ts'), greet)
    await writeFile(path.join(folder, 'supabase/config.toml'), config(current))
    server = await Server.start({ project: folder, folders: [folder] })
    server.process.stderr.on('data', (part: Buffer) => (log += part.toString()))
    await server.psql(`
      create table public.numbers as select generate_series(1, 20) as id;
      grant select on public.numbers to anon;
      insert into storage.buckets (id, name, public) values ('files', 'files', true)`)
    // The catalog is read again after a notification.
    await vi.waitUntil(async () => (await rows()) === current.rows, { timeout: 20_000 })
  })

  /** Writes the settings, has them read again, and returns what the server says about that. */
  async function change(changed: Partial<Changeable>, more = ''): Promise<string> {
    current = { ...current, ...changed }
    await writeFile(path.join(folder, 'supabase/config.toml'), config(current) + more)
    const before = log.length
    server.process.kill('SIGHUP')
    const said = () => /The settings (were read again|stay).*/.exec(log.slice(before))?.[0]
    await vi.waitUntil(said, { timeout: 20_000 })
    return said() ?? ''
  }

  const client = (key = server.access.anonKey) => connect<Schema>(server.access.url, key)

  async function rows() {
    const { data } = await client().from('numbers').select()
    return data?.length
  }

  async function signUp(password: string) {
    const email = `${crypto.randomUUID()}@example.com`
    return (await client().auth.signUp({ email, password })).error?.code
  }

  async function upload(bytes: number) {
    const files = client(server.access.serviceKey).storage.from('files')
    return (await files.upload(crypto.randomUUID(), 'x'.repeat(bytes))).error?.message
  }

  async function greeting() {
    const { anonKey, url } = server.access
    const headers = { Authorization: `Bearer ${anonKey}` }
    return (await fetch(`${url}/functions/v1/greet`, { headers })).text()
  }

  test('are used by every service, and it is said which', async () => {
    expect(await signUp('123456')).toBeUndefined()
    expect(await upload(2000)).toMatch(/maximum allowed size/)
    expect(await greeting()).toBe('hello')
    const said = await change({
      rows: 7,
      passwordLength: 8,
      fileSize: '10KiB',
      greeting: 'good day',
    })
    for (const key of [
      'api.max_rows',
      'auth.minimum_password_length',
      'storage.file_size_limit',
      'edge_runtime.secrets.GREETING',
    ])
      expect(said).toContain(key)
    expect(said).not.toContain('After a restart')
    expect(await rows()).toBe(7)
    expect(await signUp('123456')).toBe('weak_password')
    expect(await upload(2000)).toBeUndefined()
    expect(await greeting()).toBe('good day')
  })

  test('that need a restart are named, and wrong ones change nothing', async () => {
    expect(await change({ rows: 6 }, '[db]\nport = 1\n')).toMatch(
      /In force: api\.max_rows\. After a restart: db\.port\./,
    )
    expect(await change({ rows: 4 }, '[realtime]\nenabled = "perhaps"\n')).toMatch(
      /stay as they are: .*realtime\.enabled/,
    )
    expect(await rows()).toBe(6)
    expect(await change({ rows: 5 })).toContain('api.max_rows')
    expect(await rows()).toBe(5)
  })

  test('lose no request, and no socket, under load', async () => {
    const received: unknown[] = []
    const join = (channel: RealtimeChannel) =>
      new Promise((resolve) => {
        channel.subscribe((status) => {
          if ((status as string) === 'SUBSCRIBED') resolve(0)
        })
      })
    const [before, after] = [client(), client()]
    const listener = before.channel('room').on('broadcast', { event: 'word' }, ({ payload }) => {
      received.push(payload)
    })
    await join(listener)

    let isOver = false
    const failures: string[] = []
    let requests = 0
    const keepAsking = async (
      ask: () => Promise<unknown>,
      expected: (found: unknown) => boolean,
    ) => {
      while (!isOver) {
        const found = await ask().catch((error: unknown) => error)
        requests++
        if (!expected(found)) failures.push(String(found))
      }
    }
    const { url, anonKey: apikey } = server.access
    const health = () => fetch(`${url}/auth/v1/health`, { headers: { apikey } })
    const load = [
      keepAsking(rows, (found) => found === 5 || found === 7),
      keepAsking(rows, (found) => found === 5 || found === 7),
      keepAsking(health, (found) => found instanceof Response && found.ok),
      keepAsking(
        () => upload(500),
        (found) => found === undefined,
      ),
      keepAsking(greeting, (found) => /^(good day|hello)$/.test(String(found))),
    ]
    for (let number = 0; number < changes; number++) {
      const isOdd = number % 2 === 1
      await change({ rows: isOdd ? 5 : 7, greeting: isOdd ? 'good day' : 'hello' })
    }
    isOver = true
    await Promise.all(load)
    expect(failures).toEqual([])
    expect(requests).toBeGreaterThan(changes)

    // One that joins now meets one that joined before the changes.
    const speaker = after.channel('room')
    await join(speaker)
    await speaker.send({ type: 'broadcast', event: 'word', payload: { said: 'still there' } })
    await vi.waitUntil(() => received.length > 0)
    expect(received).toEqual([{ said: 'still there' }])
    await Promise.all([before.removeAllChannels(), after.removeAllChannels()])
  })
})
