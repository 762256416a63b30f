/** Servers that mean harm: their responses harm neither the machine of who runs the kit nor the terminal. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterEach, describe, expect, it } from 'vitest'

import { group } from '../src/case.ts'
import { grouped, type Report } from '../src/report/model.ts'
import { terminalReport } from '../src/report/terminal.ts'
import { Runner, type Outcome } from '../src/runner.ts'
import type { Target } from '../src/target.ts'

const some = group('rest.hostile', { title: 'Hostile', source: 'https://docs.example/' })
some.case('raw', 'rows come', { timeout: 20 }, (t) => t.get('rows').is(200, []))
some.case('client', 'a client gets rows', { timeout: 20 }, async (t) => {
  t.data(await t.anon.from('rows').select(), [])
})
some.case('short', 'rows come soon', { timeout: 1 }, (t) => t.get('rows').is(200, []))

describe('a server that', () => {
  const servers: Server[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  async function listen(respond: RequestListener): Promise<string> {
    const server = createServer(respond)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async function run(url: string, name: string, timeout = 20): Promise<Outcome> {
    const target: Target = {
      ...{ url, anonKey: 'anon', serviceKey: '', databaseUrl: '', mailUrl: '', jwtSecret: '' },
      s3: null,
      platform: null,
    }
    const { signal } = new AbortController()
    const runner = new Runner(target, [some], new Map(), { jobs: 1, timeout, signal })
    const one = some.cases.find((one) => one.name === `rest.hostile.${name}`)
    if (one === undefined) throw new Error(name)
    return runner.one(one)
  }

  it.each(['raw', 'client'])(
    'never ends its response fills no memory: %s',
    async (name) => {
      const piece = Buffer.alloc(1 << 20, '[')
      let sent = 0
      const url = await listen((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const more = () => {
          while (!response.destroyed && response.write(piece)) sent += piece.length
        }
        response.on('drain', more)
        more()
      })
      const before = process.memoryUsage().rss
      const outcome = await run(url, name)
      expect(outcome.state).toBe('differs')
      expect(sent).toBeLessThan(200 << 20)
      expect(process.memoryUsage().rss - before).toBeLessThan(400 << 20)
    },
    30_000,
  )

  it('never responds is left after the time of the case', async () => {
    const url = await listen(() => undefined)
    expect((await run(url, 'short', 1)).state).toBe('differs')
  })

  it.each([302, 307])('redirects (%s) sends no request elsewhere', async (status) => {
    let asked = 0
    const inner = await listen((_, response) => {
      asked += 1
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
    })
    const tries = [`${inner}/internal`, 'file:///etc/passwd'].flatMap((location) =>
      ['raw', 'client'].map(async (name) => {
        const url = await listen((_, response) => response.writeHead(status, { location }).end())
        expect((await run(url, name)).state, `${location} ${name}`).toBe('differs')
      }),
    )
    await Promise.all(tries)
    expect(asked).toBe(0)
  })

  it('has too large headers differs', async () => {
    const url = await listen((_, response) =>
      response.writeHead(200, { 'x-large': 'x'.repeat(1 << 20) }).end('[]'),
    )
    expect((await run(url, 'raw')).state).toBe('differs')
  })

  it('responds with control characters does not control the terminal', async () => {
    const harm = '\u001b]0;title\u0007\u001b[2J\u009b31m\r\u202eevil'
    const url = await listen((_, response) =>
      response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' }).end(harm),
    )
    const outcome = await run(url, 'raw')
    const difference = { request: harm, expected: harm, got: harm }
    const report: Report = {
      ...{ kit: '0', url, about: '', started: '', duration: 0, required: [], passed: false },
      ...{ selfCheck: null, comparison: null },
      groups: grouped([some], [outcome, { ...outcome, difference }]),
    }
    const text = terminalReport(report, false)
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
    expect(text).toContain('evil')
  })
})
