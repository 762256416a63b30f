import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { callFunction, contactSubmission } from '../support/leads.ts'
import { Server } from '../support/server.mjs'

/** Calls within the limit: of contact-notification in ten minutes, of chat-ai in one. */
const CONTACTS = 5
const QUESTIONS = 20

// Two servers on one Postgres, that of the first, behind a proxy that both trust.
describe.skipIf(inject('own') === null)('limits of the functions that the site calls', () => {
  const env = {
    JWT_SECRET: randomBytes(32).toString('hex'),
    BASALT_TRUSTED_PROXIES: '1',
  }
  const only = ['rest', 'auth', 'functions']
  let first: Server
  let second: Server
  let dataDir: string
  let database: string

  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'basalt-second-'))
    first = await Server.start({ only, env })
    const { user, password } = await first.superuser()
    const port = await first.psql('show port')
    database = `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
    second = await startSecond()
  })

  const startSecond = () =>
    Server.start({
      only,
      dataDir,
      env: { ...env, DATABASE_URL: database, BASALT_ADOPT_DATABASE: '1' },
    })

  /** Calls a function as the proxy does for a caller at `address`. */
  async function call(server: Server, name: string, address: string, body: object) {
    const response = await callFunction(server, name, body, { 'x-forwarded-for': address })
    return { status: response.status, ...((await response.json()) as { error?: string }) }
  }

  const contact = (server: Server, address: string) =>
    call(server, 'contact-notification', address, contactSubmission({ message: null }))

  const ask = (server: Server, address: string) =>
    call(server, 'chat-ai', address, { message: 'Do points expire?' })

  test('of forms count the calls to all servers, and those before a restart', async () => {
    const address = '192.0.2.7'
    const before = [first, second, first, second].map((server) => () => contact(server, address))
    for (const send of before) expect(await send()).toMatchObject({ status: 200 })
    await second.stop({ keepData: true })
    second = await startSecond()
    for (let sent = before.length; sent < CONTACTS; sent++) {
      expect(await contact(second, address)).toMatchObject({ status: 200 })
    }
    for (const server of [first, second]) {
      expect(await contact(server, address)).toMatchObject({ status: 429 })
      // Entries that the caller has written into the header are left of the proxy's entry.
      expect(await contact(server, `198.51.100.1, ${address}`)).toMatchObject({ status: 429 })
    }
    expect(await contact(first, `${address}, 192.0.2.8`)).toMatchObject({ status: 200 })
  }, 120_000)

  test('of the chat count the calls to all servers, for the network of an IPv6 address', async () => {
    for (let question = 0; question < QUESTIONS; question++) {
      const server = question % 2 === 0 ? first : second
      const reply = await ask(server, `2001:db8:0:7::${question.toString(16)}`)
      expect(reply.error).toBeUndefined()
    }
    for (const server of [first, second]) {
      expect((await ask(server, '2001:db8:0:7:ffff:1:2:3')).error).toBe('rate_limited')
      expect((await ask(server, '2001:db8:0:8::1')).error).toBeUndefined()
    }
  })
})
