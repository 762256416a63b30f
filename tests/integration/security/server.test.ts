import { readFile } from 'node:fs/promises'
import { connect as dial } from 'node:net'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { connect } from '../../support/client.ts'
import { run } from '../../support/raw.ts'
import { Server } from '../../support/server.mjs'

/** Returns whether somebody listens there. */
function listens(host: string, port: number): Promise<boolean> {
  const socket = dial({ host, port, timeout: 5_000 })
  return new Promise((resolve) => {
    const end = (connected: boolean) => {
      socket.destroy()
      resolve(connected)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
  })
}

describe.skipIf(inject('own') === null)('a server that listens everywhere', () => {
  let server: Server
  let keys: Record<string, string>
  let admin: string
  let log = ''

  beforeAll(async () => {
    // With all that it can log.
    server = await Server.start({ env: { BASALT_HOST: '0.0.0.0', BASALT_LOG: 'debug' } })
    for (const stream of [server.process.stdout, server.process.stderr])
      stream.on('data', (part: Buffer) => (log += part.toString()))
    keys = await server.status()
    const announced = await readFile(path.join(server.dataDir, 'server.json'), 'utf8')
    admin = (JSON.parse(announced) as { admin_url: string }).admin_url
  })

  // All of 127/8 leads to the machine itself there, so that the second address stands for any other.
  test.skipIf(process.platform !== 'linux')(
    'keeps database, mails and metrics to this machine',
    async () => {
      const port = (url: string | undefined) => Number(new URL(url ?? '').port)
      expect(await listens('127.0.0.2', port(server.access.url))).toBe(true)
      for (const url of [keys.DB_URL, server.inboxUrl, admin]) {
        expect(await listens('127.0.0.1', port(url)), url).toBe(true)
        expect(await listens('127.0.0.2', port(url)), url).toBe(false)
      }
    },
  )

  test('shows metrics and mails to no page of another name, and to no proxy', async () => {
    const ask = async (url: string, ...flags: string[]) => {
      const status = ['-s', '-o', '/dev/null', '-w', '%{http_code}']
      return (await run('curl', [...status, ...flags, url])).stdout
    }
    for (const url of [`${admin}/metrics`, `${server.inboxUrl}/api/v1/messages`]) {
      expect(await ask(url)).toBe('200')
      expect(await ask(url, '-H', 'Host: rebound.example')).toBe('403')
      expect(await ask(url, '-H', 'X-Forwarded-For: 203.0.113.7')).toBe('403')
    }
    expect(await ask(`${server.access.url}/metrics`, '-H', 'Host: 127.0.0.1')).not.toBe('200')
  })

  test('refuses the secret key from a browser, and says so to the stock client', async () => {
    const as = (userAgent: string) =>
      connect(server.access.url, keys.SECRET_KEY ?? '', { userAgent })
    const [program, browser] = [as('node'), as('Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0')]
    expect((await program.from('faqs').select('id').limit(1)).error).toBeNull()
    expect((await program.auth.admin.listUsers()).error).toBeNull()
    expect((await program.storage.listBuckets()).error).toBeNull()
    const message = 'Forbidden use of secret API key in browser'
    expect((await browser.from('faqs').select('id').limit(1)).error).toMatchObject({ message })
    expect((await browser.auth.admin.listUsers()).error).toMatchObject({ status: 401 })
    expect((await browser.storage.listBuckets()).error).toMatchObject({ message })
  })

  // With the settings of this repository: others may let a sign-up tell that an address is taken.
  test('tells nobody by a sign-up who has an account', async () => {
    const { url, serviceKey, anonKey } = server.access
    const [email, password] = ['grace@club.example', 'correct horse battery staple']
    const user = { email, password, email_confirm: true }
    const created = await connect(url, serviceKey).auth.admin.createUser(user)
    expect(created.error).toBeNull()
    const repeated = await connect(url, anonKey).auth.signUp({ email, password })
    expect(repeated.error).toBeNull()
    expect(repeated.data.user?.id).not.toBe(created.data.user?.id)
    expect(repeated.data.session).toBeNull()
  })

  test('tells no secret in its log, its metrics and its errors', async () => {
    const { url, anonKey } = server.access
    const password = `a pass phrase ${crypto.randomUUID()}`
    const email = 'ada@club.example'
    const headers = { apikey: anonKey, 'content-type': 'application/json' }
    const sent: [string, object][] = [
      ['auth/v1/signup', { email, password }],
      ['auth/v1/token?grant_type=password', { email, password }],
      ['auth/v1/token?grant_type=refresh_token', { refresh_token: password }],
      ['auth/v1/recover', { email }],
      ['rest/v1/no_such_table', { password }],
      ['rest/v1/rpc/no_such_function', { password }],
      ['rest/v1/faqs', { question: password }],
      ['storage/v1/object/list/app', { prefix: 7, password }],
    ]
    const responses = sent.map(async ([path, body]) => {
      const request = { method: 'POST', headers, body: JSON.stringify(body) }
      return (await fetch(`${url}/${path}`, request)).text()
    })
    const { SECRET_KEY: secret = '', SERVICE_ROLE_KEY: service = '', JWT_SECRET: jwt = '' } = keys
    const queries = [`apikey=${secret}`, `apikey=${service}`, `token=${password}`]
    const got = queries.map(async (query) => {
      const target = `${url}/rest/v1/no_such_table?${encodeURI(query)}`
      return (await fetch(target, { headers: { authorization: `Bearer ${service}` } })).text()
    })
    const texts = [...(await Promise.all([...responses, ...got]))]
    // A statement that fails in Postgres is logged there.
    texts.push(await readFile(path.join(server.dataDir, 'logs/postgres.log'), 'utf8'))
    texts.push(await (await fetch(`${admin}/metrics`)).text())
    await pause(500)
    expect(log).toContain('/rest/v1/no_such_table')
    for (const text of [...texts, log])
      for (const hidden of [
        password,
        encodeURI(password),
        secret,
        service,
        jwt,
        server.access.serviceKey,
      ])
        expect(text).not.toContain(hidden)
    for (const text of [log, texts.at(-1)]) expect(text).not.toContain(email)
  })
})
