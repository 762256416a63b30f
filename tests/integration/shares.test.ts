import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { CreateBucketCommand, DeleteObjectsCommand, S3Client } from '@aws-sdk/client-s3'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { head, run } from '../support/raw.ts'
import { Server } from '../support/server.mjs'
import { wrapBinary, type WrappedBinary } from '../support/wrapped.ts'

/** More slow calls than REST has connections. */
const crowd = 25

describe.skipIf(inject('own') === null)('a server', () => {
  let server: Server
  let admin = ''

  beforeAll(async () => {
    server = await Server.start({ only: ['rest'] })
    const announced = await readFile(path.join(server.dataDir, 'server.json'), 'utf8')
    admin = (JSON.parse(announced) as { admin_url: string }).admin_url
    // Nearly as long as `anon` may take.
    await server.psql(
      `create function public.nap() returns int language sql as 'select 1 from pg_sleep(2.5)'`,
    )
  })

  test('stays ready while callers fill the pool', async () => {
    const { url, anonKey: apikey } = server.access
    const nap = () => fetch(`${url}/rest/v1/rpc/nap`, { headers: { apikey } })
    await expect.poll(async () => (await nap()).status).toBe(200)
    const naps = Array.from({ length: crowd }, async () => (await nap()).status)
    // They are on their way, and the first ones have the connections.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const begin = performance.now()
    for (let times = 0; times < 2; times++) {
      for (const check of ['/health', '/health/ready', '/health/live'])
        for (const port of [url, admin])
          expect((await fetch(`${port}${check}`)).status, `${port}${check}`).toBe(200)
      expect((await fetch(`${admin}/metrics`)).status).toBe(200)
    }
    expect(performance.now() - begin).toBeLessThan(5000)
    // Some have waited for too long; that is theirs to know.
    for (const status of await Promise.all(naps)) expect([200, 504]).toContain(status)
  })

  test('responds while a function or another program holds all connections that it can get', async () => {
    const held: Client[] = []
    const { DB_URL: connectionString = '' } = await server.status()
    const hold = async () => {
      const client = new Client({ connectionString })
      client.on('error', () => undefined)
      held.push(client)
      await client.connect()
    }
    try {
      await expect(
        (async () => {
          for (let count = 0; count < 200; count++) await hold()
        })(),
      ).rejects.toThrow('too many connections for role "postgres"')
      expect(held.length).toBeGreaterThan(40)
      const { url: api, anonKey: apikey } = server.access
      const nap = () => fetch(`${api}/rest/v1/rpc/nap`, { headers: { apikey } })
      const naps = Array.from({ length: 10 }, nap)
      expect((await Promise.all(naps)).map(({ status }) => status)).toEqual(naps.map(() => 200))
    } finally {
      await Promise.all(held.map((client) => client.end().catch(() => undefined)))
    }
  })
})

describe.skipIf(inject('own') === null)('a server with little memory for bodies', () => {
  let server: Server
  beforeAll(async () => {
    server = await Server.start({ only: ['storage'], env: { BASALT_BODY_MEMORY: '65536' } })
  })

  test('refuses long JSON of storage, and goes on', async () => {
    const { url, serviceKey } = server.access
    const list = (prefix: string) =>
      fetch(`${url}/storage/v1/object/list/none`, {
        method: 'POST',
        headers: { authorization: `Bearer ${serviceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ prefix }),
      })
    const refused = await list('x'.repeat(200_000))
    expect(await refused.json()).toMatchObject({ code: 'SlowDown' })
    expect(refused.status).toBe(503)
    expect(await (await list('')).json()).toEqual([])
  })

  test('refuses long documents of S3, and goes on', async () => {
    const { S3_PROTOCOL_ACCESS_KEY_ID: id = '', S3_PROTOCOL_ACCESS_KEY_SECRET: secret = '' } =
      await server.status()
    const s3 = new S3Client({
      endpoint: `${server.access.url}/storage/v1/s3`,
      region: 'local',
      forcePathStyle: true,
      maxAttempts: 1,
      credentials: { accessKeyId: id, secretAccessKey: secret },
    })
    const remove = (length: number) => {
      const Objects = Array.from({ length }, (_, n) => ({ Key: `${'x'.repeat(300)}${String(n)}` }))
      return s3.send(new DeleteObjectsCommand({ Bucket: 'papers', Delete: { Objects } }))
    }
    await s3.send(new CreateBucketCommand({ Bucket: 'papers' }))
    await expect(remove(900)).rejects.toMatchObject({ name: 'SlowDown' })
    expect((await remove(3)).Deleted).toHaveLength(3)
  })
})

/** A network of its own, with addresses that are for documentation (RFC 5737). */
const network = `basalt-shares-${String(process.pid)}`
const [here, greedy, other] = ['192.0.2.1', '192.0.2.7', '192.0.2.8'] as const
const ip = (...args: string[]) => run('ip', args)
const isThere =
  inject('own') !== null &&
  (await ip('netns', 'add', network).then(
    () => true,
    () => false,
  ))

/** A limit on open files that leaves 44 connections: the files for Postgres and the log are reserved first. */
const files = 300

/** What the greedy one runs: it opens connections, sends half a request on each, and waits. */
const hold = `
const [host, port, localAddress, half] = process.argv.slice(1)
for (let count = 0; count < 100; count++) {
  const socket = require('node:net').connect({ host, port, localAddress })
  socket.on('error', () => undefined)
  socket.write(half)
}
setTimeout(() => console.log('holding'), 1500)
setInterval(() => undefined, 1000)
`

// A machine's own calls are not limited, so that the callers need other addresses.
describe.skipIf(!isThere)('a server that several networks reach', () => {
  let server: Server
  let inside: WrappedBinary
  let holding: ChildProcess | undefined

  beforeAll(async () => {
    await ip('-n', network, 'link', 'set', 'lo', 'up')
    for (const address of [here, greedy, other])
      await ip('-n', network, 'addr', 'add', `${address}/32`, 'dev', 'lo')
    inside = await wrapBinary(
      (binary) => `ulimit -n ${String(files)}; exec ip netns exec ${network} ${binary} "$@"`,
    )
    const env = { BASALT_HOST: '0.0.0.0' }
    server = await Server.start({ binary: inside.binary, only: ['rest'], env })
  })

  afterAll(async () => {
    holding?.kill()
    await inside.remove()
    await ip('netns', 'delete', network)
  })

  test('responds to another network while one holds its share of connections', async () => {
    const { port } = new URL(server.access.url)
    const url = `http://${here}:${port}/rest/v1/faqs?limit=1`
    const half = `${head('POST', url, { apikey: server.access.anonKey, 'content-length': '9' })}{`
    const script = ['node', '-e', hold, here, port, greedy, half]
    holding = spawn('ip', ['netns', 'exec', network, ...script], { stdio: 'pipe' })
    if (holding.stdout) await once(holding.stdout, 'data')
    const flags = ['-sS', '-o', '/dev/null', '-w', '%{http_code}', '--max-time', '10']
    const ask = async (address: string) => {
      const from = ['--interface', address, '-H', `apikey: ${server.access.anonKey}`]
      const asked = ip('netns', 'exec', network, 'curl', ...flags, ...from, url)
      return asked.then(
        ({ stdout }) => stdout,
        () => 'no response',
      )
    }
    for (let times = 0; times < 10; times++) expect(await ask(other)).toBe('200')
    expect(await ask(greedy)).toBe('no response')
  })
})
