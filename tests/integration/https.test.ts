/** HTTPS without a proxy: certificates of an ACME server, and those of files. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import type http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { freePort } from '../../bench/lib/ports.mjs'
import { host, lookup } from '../support/hosts.ts'
import { freePorts, get, patience, serial, serve, type Ports } from '../support/https.ts'
import { Load } from '../support/load.ts'
import { Pebble, selfSigned } from '../support/pebble.ts'
import { Postgres, temporaryFolder } from '../support/postgres.mjs'
import { defaultBinary, type Server } from '../support/server.mjs'

describe.skipIf(inject('own') === null)('HTTPS', { timeout: 240_000 }, () => {
  let folder: string
  let ports: Ports

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-https-'))
    ports = await freePorts()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('a certificate of an ACME server is got, renewed under load and kept', async () => {
    const { name, entering } = await host(folder, 'shop.basalt.test')
    const url = `https://${name}:${String(ports.https)}`
    const looked = { httpPort: ports.http, tlsPort: ports.https, entering }
    let pebble = await Pebble.start(folder, { ...looked, validity: 24 })
    const env = {
      ...pebble.environment,
      BASALT_TLS_DOMAINS: name,
      BASALT_TLS_HSTS_SECONDS: '60',
    }
    const ca = await pebble.root()
    let server = await serve(ports, env, { entering })
    const { dataDir } = server
    try {
      await expect.poll(() => serial(ports.https, name), patience).toBeTruthy()
      const first = await serial(ports.https, name)
      const headers = { apikey: server.access.anonKey }
      const health = `${url}/auth/v1/health`
      const secure = await get(health, { ca, headers, lookup })
      expect(secure.statusCode).toBe(200)
      expect(secure.headers['strict-transport-security']).toBe('max-age=60')
      const plain = await get(`http://${name}:${String(ports.http)}/x?y=1`, { lookup })
      expect([plain.statusCode, plain.headers.location]).toEqual([308, `${url}/x?y=1`])

      const session = http2.connect(url, { ca, lookup })
      const stream = session.request({ ':path': '/auth/v1/health', ...headers })
      const [answer] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
      expect([session.alpnProtocol, answer[':status']]).toEqual(['h2', 200])
      session.destroy()

      const upgrade = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      }
      const channel = `${url}/realtime/v1/websocket?apikey=${server.access.anonKey}&vsn=1.0.0`
      const socket = https.get(channel, { ca, lookup, agent: false, headers: upgrade })
      const [upgraded] = (await once(socket, 'upgrade')) as [http.IncomingMessage]
      expect(upgraded.statusCode).toBe(101)
      upgraded.socket.destroy()

      const upload = https.request(`${url}/storage/v1/upload/resumable`, {
        method: 'POST',
        ca,
        lookup,
        agent: false,
        headers: {
          authorization: `Bearer ${server.access.serviceKey}`,
          'tus-resumable': '1.0.0',
          'upload-length': '5',
          'upload-metadata': `bucketName ${btoa('other')},objectName ${btoa('resumed.txt')}`,
        },
      })
      upload.end()
      const [created] = (await once(upload, 'response')) as [http.IncomingMessage]
      expect(created.statusCode).toBe(201)
      expect(created.headers.location?.startsWith(`${url}/storage/v1/upload/resumable/`)).toBe(true)

      const modes = ['tls', 'tls/account.json', 'tls/certificate.json'].map(
        async (name) => (await stat(path.join(dataDir, name))).mode & 0o777,
      )
      expect(await Promise.all(modes)).toEqual([0o700, 0o600, 0o600])
      const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text()
      expect(metrics).toMatch(/tls_certificate_seconds_left \d/)

      // The ports stay open while the process becomes another program, too.
      const load = new Load(health, { ca, headers, lookup })
      await expect.poll(() => serial(ports.https, name), patience).not.toBe(first)
      const { pid } = server.process
      await writeFile(path.join(dataDir, 'switch-request.json'), JSON.stringify({ pid }))
      server.process.kill('SIGTERM')
      const starts = () => server.log.split('Starting Basalt in').length - 1
      await expect.poll(starts, patience).toBeGreaterThan(1)
      expect((await get(health, { ca, headers, lookup })).statusCode).toBe(200)
      const { done, failures } = await load.stop()
      expect(failures).toEqual([])
      expect(done).toBeGreaterThan(50)

      // Without the ACME server, the last certificate stays, also beyond a restart.
      const last = await serial(ports.https, name)
      await pebble.stop()
      await expect
        .poll(() => server.log, patience)
        .toContain('there is no new certificate of HTTPS')
      expect(await serial(ports.https, name)).toBe(last)
      await server.stop({ keepData: true })
      server = await serve(ports, env, { entering, dataDir })
      await expect.poll(() => serial(ports.https, name), patience).toBe(last)
      await server.stop({ keepData: true })

      // The ACME server comes back, and does not know the account any more.
      pebble = await Pebble.start(folder, { ...looked, validity: 86_400 }, pebble)
      server = await serve(ports, env, { entering, dataDir })
      await expect.poll(() => serial(ports.https, name), patience).not.toBe(last)
      expect(pebble.issued).toBe(1)
    } finally {
      await server.stop()
      await pebble.stop()
    }
  })

  test('nodes on one database share a certificate, and answer for each other', async () => {
    const there = await mkdtemp(path.join(folder, 'nodes-'))
    const cluster = await temporaryFolder('basalt-https-postgres-')
    const postgres = await Postgres.create(cluster, { settings: { fsync: 'off' } })
    await postgres.start()
    // Pebble looks for answers at a node that does not order there.
    const [answering, ordering, other] = [ports, await freePorts(), await freePorts()]
    const pebble = await Pebble.start(there, {
      httpPort: answering.http,
      tlsPort: answering.https,
      validity: 86_400,
    })
    const shared = {
      DATABASE_URL: postgres.uri(),
      BASALT_ADOPT_DATABASE: '1',
      JWT_SECRET: 'a secret that all nodes of this test share',
      BASALT_TLS_DOMAINS: 'localhost',
    }
    const nodes: Server[] = []
    try {
      const elsewhere = `https://localhost:${String(await freePort())}/dir`
      nodes.push(await serve(answering, { ...shared, BASALT_TLS_ACME_DIRECTORY: elsewhere }))
      nodes.push(await serve(ordering, { ...shared, ...pebble.environment }))
      await expect.poll(() => serial(ordering.https), patience).toBeTruthy()
      nodes.push(await serve(other, { ...shared, ...pebble.environment }))
      const issued = await serial(ordering.https)
      await expect.poll(() => serial(other.https), patience).toBe(issued)
      expect([pebble.issued, await serial(answering.https)]).toEqual([1, null])

      const stored = 'select encode(sealed, $$escape$$) as sealed from basalt_platform.certificates'
      const rows = await postgres.sql(stored)
      expect(rows.length).toBeGreaterThan(1)
      for (const { sealed } of rows) expect(sealed).not.toMatch(/BEGIN|localhost|key/)
    } finally {
      for (const node of nodes) await node.stop()
      await pebble.stop()
      await postgres.stop()
      await rm(cluster, { recursive: true, force: true })
    }
  })

  test('certificates of files are read again when they change', async () => {
    const own = path.join(folder, 'own')
    await mkdir(own)
    const { key, certificate } = selfSigned(own, 'own')
    const server = await serve(ports, {
      BASALT_TLS_CERTIFICATE: certificate,
      BASALT_TLS_KEY: key,
    })
    try {
      const first = await serial(ports.https)
      expect(first).toBeTruthy()
      const good = await readFile(certificate)
      await writeFile(certificate, 'broken')
      await expect.poll(() => server.log, patience).toContain('the certificate of HTTPS stays')
      expect(await serial(ports.https)).toBe(first)
      await writeFile(certificate, good)
      selfSigned(own, 'own')
      await expect.poll(() => serial(ports.https), patience).not.toBe(first)
      expect(await serial(ports.https)).toBeTruthy()
    } finally {
      await server.stop()
    }
  })

  test('a proxy in front and HTTPS exclude each other', async () => {
    const { key, certificate } = selfSigned(folder, 'proxied')
    const started = serve(ports, {
      BASALT_TLS_CERTIFICATE: certificate,
      BASALT_TLS_KEY: key,
      BASALT_TRUSTED_PROXIES: '1',
    })
    await expect(started).rejects.toThrow('basalt.trusted_proxies')
  })
  test('doctor says how a user that is not root gets ports below 1024', async () => {
    const names = ['--bounding-set', '--inh-caps'].map((flag) => `${flag}=-net_bind_service`)
    const port = (await freePort()) % 1024
    const doctor = spawn('setpriv', [...names, '--', defaultBinary(), 'doctor'], {
      cwd: folder,
      env: {
        ...process.env,
        BASALT_TLS_DOMAINS: 'localhost',
        BASALT_TLS_HOST: '127.0.0.1',
        BASALT_TLS_PORT: String(port),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [output] = await Promise.all([text(doctor.stdout), once(doctor, 'close')])
    expect(output).toContain(`127.0.0.1:${String(port)}: this user may not use ports below 1024`)
    expect(output).toContain('ListenStream')
    expect(doctor.exitCode).toBe(1)
  })
})
