import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import path from 'node:path'

import { bare } from '../lib/bare.mjs'
import { load } from '../lib/load.mjs'
import { replay } from '../lib/pgbench.mjs'
import { Postgres } from '../lib/postgres.mjs'
import { processorTime, treeProcessorTime } from '../lib/processes.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Recorder } from '../lib/recorder.mjs'
import { Running } from '../lib/running.mjs'
import { median } from '../lib/statistics.mjs'
import { figure, heading, row, table } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'

const PEOPLE = 1000
const SESSIONS = 100
const PASSWORD = 'correct horse battery staple'
/** Refresh tokens of schema.sql: numbers of the twelve digits that such a token has. */
const FIRST_TOKEN = 100_000_000_000
const LAST_TOKEN = FIRST_TOKEN + PEOPLE * SESSIONS - 1

/** What the figures should be at least, or at most. */
const targets = { signIn: 0.9, uncached: 60, cached: 1 }

/**
 * Measures signing in beside bare bcrypt, reading the user and refreshing beside the same statements run by pgbench,
 * and the verification of tokens by itself.
 * @param {string} binary Basalt's
 * @param {{ seconds: number, rounds: number, connections: number[] }} how
 */
export async function auth(binary, how) {
  const running = new Running()
  try {
    const stage = await Stage.start(binary, running)
    await signIns(stage, how)
    await besideSignIns(stage, how)
    await statements(stage, how)
    await tokens(how)
  } finally {
    await running.stop()
  }
}

/** A server with the accounts of schema.sql, and the statements that it sends to Postgres. */
class Stage {
  /** @param {string} binary @param {Running} running */
  static async start(binary, running) {
    heading('Auth: making accounts …')
    const env = {
      ...quiet,
      JWT_SECRET: randomBytes(32).toString('hex'),
      // So high that requests are counted but the limit is never reached.
      GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '1000000000',
    }
    const server = running.add(await Server.start({ binary, only: ['auth'], env }))
    const stage = new Stage()
    stage.pid = server.process.pid
    stage.url = `${server.access.url}/auth/v1`
    stage.headers = { apikey: server.access.anonKey }
    stage.database = await Postgres.of(server)
    stage.postgresPid = await server.postgresPid()
    await stage.fill()
    stage.session = await signIn(stage.url, stage.headers)
    await stage.#record(binary, env)
    return stage
  }

  /** Creates the accounts again. */
  async fill() {
    const file = path.join(import.meta.dirname, 'schema.sql')
    const how = { people: PEOPLE, sessions: SESSIONS, password: PASSWORD, first: FIRST_TOKEN }
    await this.database.file(file, how)
    await this.database.sql('checkpoint')
  }

  /** Records the statements that a server sends to Postgres for a user, and for a refresh. */
  async #record(binary, env) {
    const recorder = await Recorder.start(this.database, 'supabase_auth_admin')
    const server = await Server.start({
      binary,
      only: ['auth'],
      env: { ...env, DATABASE_URL: recorder.uri, BASALT_ADOPT_DATABASE: '1' },
    })
    try {
      const url = `${server.access.url}/auth/v1`
      const get = () => ask(`${url}/user`, { headers: this.userHeaders })
      const refresh = (token) => () =>
        ask(`${url}/token?grant_type=refresh_token`, {
          method: 'POST',
          headers: this.headers,
          body: JSON.stringify({ refresh_token: token }),
        })
      // The first time, statements are prepared and connections made.
      await get()
      this.reading = await recorder.during(get)
      await refresh(String(FIRST_TOKEN))()
      this.refreshing = await recorder.during(refresh(String(FIRST_TOKEN + 1)))
    } finally {
      await server.stop()
      await recorder.stop()
    }
  }

  get userHeaders() {
    return { ...this.headers, Authorization: `Bearer ${this.session.access_token}` }
  }

  /** Sends requests for a while, and measures the server's processor time for each request, too. */
  async load(request, how) {
    const before = processorTime(this.pid)
    const postgres = treeProcessorTime(this.postgresPid)
    const figures = await load(this.url, [request], how)
    const postgresTime = treeProcessorTime(this.postgresPid) - postgres
    const server_us = (processorTime(this.pid) - before) / figures.asked
    return { ...figures, server_us, postgres_us: postgresTime / figures.asked }
  }
}

async function ask(url, request) {
  const response = await fetch(url, request)
  const document = await response.json()
  if (!response.ok)
    throw new Error(`${url} responded with ${response.status}: ${JSON.stringify(document)}`)
  return document
}

function signIn(url, headers) {
  const body = JSON.stringify({ email: 'fan1@club.example', password: PASSWORD })
  return ask(`${url}/token?grant_type=password`, { method: 'POST', headers, body })
}

/** Returns requests of anybody who signs in by password. */
function signingIn(stage) {
  return {
    method: 'POST',
    path: '/token?grant_type=password',
    headers: { ...stage.headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: `fan{1..${PEOPLE}}@club.example`, password: PASSWORD }),
  }
}

/** Measures sign-ins by password, which are limited by bcrypt on all cores. */
async function signIns(stage, { seconds, rounds }) {
  const threads = availableParallelism()
  const connections = 4 * threads
  heading(
    `POST /token?grant_type=password, ${connections} connections, beside bcrypt on ${threads} threads`,
  )
  const request = signingIn(stage)
  const turns = []
  for (let round = 0; round < rounds; round += 1) {
    const http = await stage.load(request, { connections, seconds })
    const hashes = await bare('passwords', '--threads', threads, '--seconds', Math.ceil(seconds))
    turns.push({ http, hashes, ratio: http.per_second / hashes.per_second })
  }
  const middle = (value) => median(turns.map(value))
  row('sign-ins/s', figure(middle(({ http }) => http.per_second)))
  row('bcrypt, comparisons/s', figure(middle(({ hashes }) => hashes.per_second)))
  verdict(
    'ratio',
    middle(({ ratio }) => ratio).toFixed(2),
    middle(({ ratio }) => ratio) >= targets.signIn,
  )
  const [server, postgres, hash] = [
    middle(({ http }) => http.server_us),
    middle(({ http }) => http.postgres_us),
    middle(({ hashes }) => hashes.processor_us),
  ]
  row('processor time for each: server, Postgres', `${figure(server)} µs, ${figure(postgres)} µs`)
  row('processor time of bcrypt for each', `${figure(hash)} µs`)
  row('of it', (hash / (server + postgres)).toFixed(2))
}

/** Measures other requests during sign-ins, which must not be slower: hashes run at a lower priority. */
async function besideSignIns(stage, { seconds, rounds }) {
  const connections = 4
  const flood = 4 * availableParallelism()
  heading(`GET /user, ${connections} connections, alone and beside ${flood} that sign in`)
  const request = { path: '/user', headers: stage.userHeaders }
  const alone = []
  const beside = []
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await load(stage.url, [request], { connections, seconds }))
    const [figures] = await Promise.all([
      load(stage.url, [request], { connections, seconds }),
      load(stage.url, [signingIn(stage)], { connections: flood, seconds }),
    ])
    beside.push(figures)
  }
  const middle = (turns, value) => figure(median(turns.map(value)))
  table(
    ['', 'requests/s', 'p50', 'p99'],
    Object.entries({ alone, 'beside sign-ins': beside }).map(([name, turns]) => [
      name,
      middle(turns, ({ per_second }) => per_second),
      middle(turns, ({ p50_us }) => p50_us),
      middle(turns, ({ p99_us }) => p99_us),
    ]),
  )
}

/** Measures reading the user and refreshing, which cost one round trip to Postgres each. */
async function statements(stage, how) {
  heading(
    'GET /user and POST /token?grant_type=refresh_token beside the same statements in pgbench',
  )
  const range = `{${FIRST_TOKEN}..${LAST_TOKEN}}`
  const workloads = [
    {
      name: 'user',
      request: { path: '/user', headers: stage.userHeaders },
      script: { statements: stage.reading, variables: {} },
    },
    {
      name: 'refresh',
      prepare: true,
      request: {
        method: 'POST',
        path: '/token?grant_type=refresh_token',
        headers: { ...stage.headers, 'Content-Type': 'application/json' },
        body: JSON.stringify({ refresh_token: range }),
      },
      script: { statements: refreshes(stage.refreshing), variables: refreshVariables },
    },
  ]
  const lines = []
  for (const { name, request, script, prepare } of workloads) {
    for (const connections of how.connections) {
      const turns = []
      for (let round = 0; round < how.rounds; round += 1) {
        if (prepare) await stage.fill()
        const http = await stage.load(request, { ...how, connections })
        if (prepare) await stage.fill()
        const limit = await replay(
          stage.database.environment,
          script.statements,
          script.variables,
          {
            ...how,
            connections,
          },
        )
        turns.push({ http, limit, ratio: http.per_second / limit.per_second })
      }
      const middle = (value) => figure(median(turns.map(value)))
      lines.push([
        name,
        connections,
        middle(({ http }) => http.per_second),
        middle(({ limit }) => limit.per_second),
        middle(({ ratio }) => ratio),
        middle(({ http }) => http.p50_us),
        middle(({ http }) => http.p99_us),
        middle(({ http }) => http.server_us),
        middle(({ http }) => http.postgres_us),
      ])
    }
  }
  const columns = [
    '',
    'connections',
    'Basalt/s',
    'pgbench/s',
    'of it',
    'p50',
    'p99',
    'server µs',
    'Postgres µs',
  ]
  table(columns, lines)
}

/** The random numbers that are used for the token and its successor. */
const refreshVariables = {
  token: [FIRST_TOKEN, LAST_TOKEN],
  successor: [LAST_TOKEN + 1, 999_999_999_999],
}

/** Returns the statements of a refresh with random tokens in place of those that were recorded. */
function refreshes(recorded) {
  const [token, successor] = recorded.at(-1).parameters
  const names = { [token]: 'token', [successor]: 'successor' }
  return recorded.map((statement) => ({ ...statement, names }))
}

async function tokens({ seconds }) {
  heading('Verification of a user’s token, processor time')
  const { es256_us, hs256_us, cached_us } = await bare('tokens', '--seconds', Math.ceil(seconds))
  verdict('ES256, for the first time', `${figure(es256_us)} µs`, es256_us < targets.uncached)
  verdict('HS256, for the first time', `${figure(hs256_us)} µs`, hs256_us < targets.uncached)
  verdict('verified before', `${figure(cached_us)} µs`, cached_us < targets.cached)
}

function verdict(name, value, isMet) {
  row(name, isMet ? value : `${value}  (missed)`)
}
