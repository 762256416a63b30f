/** HTTPS where the ACME server reaches only the port of HTTP. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { freePort } from '../../bench/lib/ports.mjs'
import { listOfProblems } from '../support/health.ts'
import { freePorts, get, patience, serial, serve } from '../support/https.ts'
import { Pebble } from '../support/pebble.ts'

describe.skipIf(inject('own') === null)('HTTPS behind a firewall', { timeout: 120_000 }, () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-https-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('a certificate is got by HTTP-01 where the port of HTTPS is not reached', async () => {
    const ports = await freePorts()
    // Nothing listens where Pebble looks for TLS-ALPN-01.
    const pebble = await Pebble.start(folder, {
      httpPort: ports.http,
      tlsPort: await freePort(),
      validity: 86_400,
    })
    const server = await serve(ports, { ...pebble.environment, BASALT_TLS_DOMAINS: 'localhost' })
    try {
      // The first order is one of TLS-ALPN-01, and fails. The operator reads why while there is no certificate.
      await expect.poll(() => server.log, patience).toMatch(/no new certificate.*tls-alpn-01/)
      expect(await serial(ports.https)).toBeNull()
      const { problems } = await listOfProblems(server)
      const problem = problems.find(({ name }) => name === 'certificate_ends')
      expect(problem?.severity).toBe('critical')
      expect(problem?.what).toContain('cannot reach this server under its names')

      await expect.poll(() => serial(ports.https), patience).toBeTruthy()
      expect(pebble.issued).toBe(1)
      const headers = { apikey: server.access.anonKey }
      const health = `https://localhost:${String(ports.https)}/auth/v1/health`
      const ca = await pebble.root()
      expect((await get(health, { ca, headers })).statusCode).toBe(200)

      // The answer is there for as long as it is needed, and nothing else is below the path of answers.
      const place = /http:\/\/localhost:\d+(\/\.well-known\/acme-challenge\/[\w-]+)/
      const [, answer = ''] = place.exec(pebble.log) ?? []
      expect(answer).not.toBe('')
      const plain = `http://localhost:${String(ports.http)}`
      await expect.poll(async () => (await get(plain + answer)).statusCode).toBe(404)
      expect((await get(`${plain}/rest/v1/`)).statusCode).toBe(308)
    } finally {
      await server.stop()
      await pebble.stop()
    }
  })
})
