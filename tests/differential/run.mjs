/**
 * Sends the requests of requests.mjs to Basalt and to PostgREST, both on the same database, and shows where the
 * responses differ in more than what changed in PostgREST after the version at hand. See README.md beside it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { Postgres } from '../../bench/lib/postgres.mjs'
import { Running } from '../../bench/lib/running.mjs'
import { token } from '../../bench/lib/token.mjs'
import { PostgREST } from '../../bench/rest/postgrest.mjs'
import { Server } from '../support/server.mjs'
import { isKnown } from './known.mjs'
import { requests } from './requests.mjs'

const here = import.meta.dirname
const secret = 'what both servers verify tokens with, in this comparison'
/** The longest that a start or a response may take, in milliseconds. */
const limit = 30_000

/** What is compared beside status and body. */
const headers = [
  'content-type',
  'content-range',
  'content-location',
  'content-profile',
  'location',
  'preference-applied',
  'allow',
  'www-authenticate',
  'x-brew',
  'cache-control',
]

/** Returns the settings of both servers; changes of requests are rolled back, so that both find the same rows. */
const settings = (uri) => ({
  PGRST_DB_URI: uri,
  PGRST_DB_SCHEMAS: 'league, archive',
  PGRST_DB_ANON_ROLE: 'anon',
  PGRST_DB_AGGREGATES_ENABLED: 'true',
  PGRST_DB_PLAN_ENABLED: 'true',
  PGRST_DB_MAX_ROWS: '1000',
  PGRST_DB_TX_END: 'rollback-allow-override',
  PGRST_JWT_SECRET: secret,
})

/** `basalt postgrest`, which replaces the `postgrest` binary. */
class StandIn {
  static async start(binary, uri) {
    const child = spawn(binary, ['postgrest'], {
      env: {
        ...settings(uri),
        BASALT_LOG_FORMAT: 'text',
        PGRST_SERVER_HOST: '127.0.0.1',
        PGRST_SERVER_PORT: '0',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const server = new StandIn(child)
    server.url = await new Promise((resolve, reject) => {
      let log = ''
      const timer = setTimeout(() => reject(new Error(`Basalt did not start:\n${log}`)), limit)
      child.stderr.on('data', (chunk) => {
        log = (log + chunk).slice(-4000)
        const [, place] = /API server listening on (\S+)\n/.exec(log) ?? []
        if (place === undefined) return
        clearTimeout(timer)
        resolve(`http://${place}`)
      })
    })
    const until = performance.now() + limit
    while ((await fetch(`${server.url}/clubs?limit=0`)).status !== 200) {
      if (performance.now() > until) throw new Error('Basalt loaded no schema cache')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return server
  }

  constructor(child) {
    this.process = child
  }

  async stop() {
    if (this.process.exitCode !== null) return
    const ended = once(this.process, 'exit')
    this.process.kill('SIGTERM')
    await ended
  }
}

/** Makes a database of its own with what the tests of the service have, and some more. */
async function database(running, binary) {
  const env = { BASALT_ADMIN_PORT: '0', BASALT_DATABASE_PORT: '0', BASALT_LOG: 'warn' }
  const project = path.join(here, '../../bench/rest')
  const host = running.add(await Server.start({ binary, project, only: ['rest'], env }))
  const cluster = await Postgres.of(host)
  await cluster.sql('create database differential template template0')
  const own = cluster.as({ name: 'differential' })
  const ofTests = path.join(here, '../../server/rest/tests/rest')
  for (const name of ['league.sql', 'domains.sql', 'media.sql'])
    await own.file(path.join(ofTests, name))
  await own.file(path.join(here, 'database.sql'))
  return own.uri
}

/** Returns the response in the form in which responses are compared. */
async function ask(url, { method, path, headers: sent, body, role }) {
  const bearer = role === undefined ? {} : { authorization: `Bearer ${token({ role }, secret)}` }
  const response = await fetch(url + path, {
    method,
    headers: { 'accept-encoding': 'identity', ...bearer, ...sent },
    body,
    signal: AbortSignal.timeout(limit),
  })
  const text = Buffer.from(await response.arrayBuffer()).toString('utf8')
  const comparable = { status: response.status, body: asJson(text) }
  for (const name of headers) {
    // A space before a parameter makes no difference.
    const value = response.headers.get(name)?.replaceAll('; ', ';')
    if (value !== undefined) comparable[name] = value
  }
  return comparable
}

function asJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Returns the parts of two responses that are not the same. */
function differing(ours, theirs) {
  const names = new Set([...Object.keys(ours), ...Object.keys(theirs)])
  return [...names].filter((name) => !isDeepStrictEqual(ours[name], theirs[name]))
}

async function compare(basalt, postgrest, only) {
  let [same, known, different] = [0, 0, 0]
  for (const request of requests()) {
    if (only !== undefined && !request.path.includes(only)) continue
    const [ours, theirs] = [await ask(basalt.url, request), await ask(postgrest.url, request)]
    // The second request uses the cached plan.
    const second = await ask(basalt.url, request)
    const parts = differing(ours, theirs).filter((part) => !isKnown(part, request, ours, theirs))
    for (const part of differing(ours, second)) {
      if (isKnown(part, request, ours, second)) continue
      parts.push(part)
      process.stdout.write(`\nthe second time: ${JSON.stringify(second[part])}`)
    }
    if (parts.length > 0) {
      different += 1
      const description = [
        request.method,
        request.path,
        JSON.stringify(request.headers),
        request.body,
      ]
      process.stdout.write(`\n${description.filter((part) => part !== undefined).join(' ')}\n`)
      for (const part of parts) {
        process.stdout.write(`  ${part}\n    Basalt    ${JSON.stringify(ours[part])}\n`)
        process.stdout.write(`    PostgREST ${JSON.stringify(theirs[part])}\n`)
      }
    } else if (differing(ours, theirs).length > 0) known += 1
    else same += 1
  }
  process.stdout.write(
    `\n${same} responses are the same, ${known} differ by what changed after the peer's version, ` +
      `${different} otherwise\n`,
  )
  return different === 0
}

const [binary, only] = process.argv.slice(2)
if (binary === undefined) {
  process.stderr.write('usage: tests/differential/run BINARY [PART OF A PATH]\n')
  process.exit(2)
}
const running = new Running()
try {
  const uri = await database(running, path.resolve(binary))
  const postgrest = running.add(await PostgREST.start(settings(uri)))
  const basalt = running.add(await StandIn.start(path.resolve(binary), uri))
  if (!(await compare(basalt, postgrest, only))) process.exitCode = 1
} catch (error) {
  process.stderr.write(`${error.stack}\n`)
  process.exitCode = 1
} finally {
  await running.stop()
}
