/** Each service over HTTPS: with the stock clients, and with what speaks HTTP/2. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import http2 from 'node:http2'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { freePorts, serve } from '../support/https.ts'
import { selfSigned } from '../support/pebble.ts'
import { end, forget, track } from '../support/programs.mjs'
import type { Server } from '../support/server.mjs'

const run = promisify(execFile)
const script = path.join(import.meta.dirname, 'https/clients.mjs')

describe.skipIf(inject('own') === null)('over HTTPS', () => {
  let folder: string
  let certificate: string
  let server: Server
  let url: string

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-https-'))
    const project = path.join(folder, 'project')
    await mkdir(project)
    await writeFile(path.join(project, 'config.toml'), '')
    const source = path.join(import.meta.dirname, 'functions/events')
    await cp(source, path.join(project, 'functions/events'), { recursive: true })
    const files = selfSigned(folder, 'own')
    certificate = files.certificate
    const ports = await freePorts()
    url = `https://localhost:${String(ports.https)}`
    const env = {
      BASALT_TLS_DOMAINS: 'localhost',
      BASALT_TLS_CERTIFICATE: certificate,
      BASALT_TLS_KEY: files.key,
    }
    server = await serve(ports, env, { project })
    await server.psql(
      `create table public.notes (id int primary key); insert into public.notes values (7);
       alter table public.notes enable row level security;
       create policy read on public.notes for select using (true)`,
    )
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Has the stock clients do something, and returns their report. */
  const report = async (subject: string) => {
    const { anonKey, serviceKey } = server.access
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificate }
    const words = [script, url, anonKey, serviceKey, subject]
    const { stdout } = await run(process.execPath, words, { env, timeout: 50_000 })
    return JSON.parse(stdout) as unknown
  }
  const session = async () => http2.connect(url, { ca: await readFile(certificate) })
  const ask = (client: http2.ClientHttp2Session, place: string, method = 'GET') => {
    const { anonKey } = server.access
    const headers = { apikey: anonKey, authorization: `Bearer ${anonKey}` }
    const stream = client.request({ ':path': place, ':method': method, ...headers })
    return stream.setEncoding('utf8').end()
  }

  test('the stock client joins a channel, and its message arrives', async () => {
    expect(await report('realtime')).toEqual({
      joined: ['SUBSCRIBED', 'SUBSCRIBED'],
      sent: 'ok',
      heard: { word: 'ahoy' },
    })
  })

  test('an object is uploaded in chunks, and downloaded by a signed URL', async () => {
    const resumable = `${url}/storage/v1/upload/resumable/`
    const sign = `${url}/storage/v1/object/sign/over-https/film.mp4?token=`
    expect(await report('objects')).toEqual({
      place: expect.stringContaining(resumable) as string,
      chunks: [2_000_000, 2_000_000, 1_000_000],
      signed: expect.stringContaining(sign) as string,
      status: 200,
      type: 'video/mp4',
      isSame: true,
    })
  })

  test('each event of a function arrives before the next one is sent', async () => {
    expect(await report('events')).toEqual({
      type: 'text/event-stream',
      pieces: ['data: 1\n\n', 'data: 2\n\n'],
      done: true,
    })
  })

  test('rows and events come over one connection of HTTP/2', async () => {
    const client = await session()
    try {
      const events = ask(client, '/functions/v1/events')
      const [first] = (await once(events, 'data')) as [string]
      expect([client.alpnProtocol, first]).toEqual(['h2', 'data: 1\n\n'])

      // The stream of events stays open meanwhile.
      const rows = ask(client, '/rest/v1/notes')
      const [answer] = (await once(rows, 'response')) as [http2.IncomingHttpHeaders]
      expect(answer[':status']).toBe(200)
      expect((await rows.toArray()).join('')).toBe('[{"id":7}]')

      const second = once(events, 'data')
      ask(client, '/functions/v1/events/next', 'POST').resume()
      expect(await second).toEqual(['data: 2\n\n'])
      const ended = once(events, 'end')
      ask(client, '/functions/v1/events/end', 'POST').resume()
      await ended
    } finally {
      client.destroy()
    }
  })

  test('curl takes HTTP/2 by itself', async () => {
    const always = ['--silent', '--show-error', '--max-time', '50', '--cacert', certificate]
    const words = [...always, '--header', `apikey: ${server.access.anonKey}`]
    const version = ['--write-out', ' %{http_version}']
    const rows = await run('curl', [...words, ...version, `${url}/rest/v1/notes`])
    expect(rows.stdout).toBe('[{"id":7}] 2')

    const place = `${url}/functions/v1/events`
    const bearer = ['--header', `Authorization: Bearer ${server.access.anonKey}`]
    const events = spawn('curl', [...words, ...bearer, ...version, '--no-buffer', place])
    track(events, () => end(events, 'SIGTERM', 1000))
    let printed = ''
    events.stdout.on('data', (piece: Buffer) => (printed += piece.toString()))
    const ended = once(events, 'close')
    await expect.poll(() => printed).toBe('data: 1\n\n')
    await run('curl', [...words, ...bearer, '--request', 'POST', `${place}/next`])
    await expect.poll(() => printed).toBe('data: 1\n\ndata: 2\n\n')
    await run('curl', [...words, ...bearer, '--request', 'POST', `${place}/end`])
    await ended
    expect(printed).toBe('data: 1\n\ndata: 2\n\n 2')
    forget(events)
  })
})
