import { randomBytes } from 'node:crypto'
import path from 'node:path'

import { Postgres } from '../lib/postgres.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Running } from '../lib/running.mjs'
import { token } from '../lib/token.mjs'
import { Server } from '../../tests/support/server.mjs'
import { PostgREST } from './postgrest.mjs'
import { holderId } from './workloads.mjs'

/** Connections to Postgres that each server may use; PostgREST's default. */
export const pool = Number(process.env.BENCH_POOL ?? 10)

const name = 'basalt_bench'

/**
 * A server to be measured.
 * @typedef {{ name: string, url: string, pid: number, headers: Record<string, string> }} Peer
 */

/** The database of schema.sql on a cluster of its own, and the servers on it. */
export class Stage {
  #running = new Running()
  #secret = randomBytes(32).toString('hex')
  /** @type {Peer} */
  basalt

  /**
   * Starts everything.
   * @param {string} binary Basalt's
   * @param {{ withPostgREST?: boolean, measured?: string }} [options] `measured` is run in place of `binary` where it is
   *   what is measured
   */
  static async start(binary, { withPostgREST = true, measured = binary } = {}) {
    const stage = new Stage()
    try {
      await stage.#cluster(binary)
      stage.basalt = await stage.another(measured)
      if (withPostgREST) await stage.#postgrest(measured)
    } catch (error) {
      await stage.stop()
      throw error
    }
    return stage
  }

  /** Returns a token of the ticket holder with this number, for either server. */
  token = (holder) =>
    token(
      { role: 'authenticated', sub: holderId(holder), exp: Math.floor(Date.now() / 1000) + 86_400 },
      this.#secret,
    )

  /**
   * Returns the requests of a workload with the headers that a server needs.
   * @param {Peer} peer
   * @param {import('./workloads.mjs').Workload} workload
   */
  requestsFor(peer, workload) {
    return workload
      .requests(this.token)
      .map((request) => ({ ...request, headers: { ...peer.headers, ...request.headers } }))
  }

  async stop() {
    await this.#running.stop()
  }

  /** Starts the embedded Postgres, run by a Basalt that gets no requests. */
  async #cluster(binary) {
    const host = await this.#start(binary)
    const server = await Postgres.of(host)
    await server.sql(`create database ${name}`)
    /** The database, as its superuser. */
    this.admin = server.as({ name })
    await this.admin.file(path.join(import.meta.dirname, 'schema.sql'))
    // A login like Basalt's own, but with a password that the peers know.
    const login = { user: 'bench_login', password: randomBytes(16).toString('hex') }
    await this.admin.sql(
      `create role ${login.user} login noinherit password '${login.password}'`,
      `grant anon, authenticated, service_role to ${login.user}`,
      `alter role ${login.user} set statement_timeout = '8s'`,
      `alter role ${login.user} set lock_timeout = '8s'`,
      'vacuum (freeze, analyze)',
      'checkpoint',
    )
    /** The database, as the login role that the servers have. */
    this.login = this.admin.as(login)
    this.postgresPid = await host.postgresPid()
    this.postgresVersion = await this.admin.sql('show server_version')
  }

  /**
   * Starts one more Basalt on the database.
   * @param {string} binary
   * @returns {Promise<Peer>}
   */
  async another(binary) {
    const server = await this.#start(binary, {
      DATABASE_URL: this.admin.uri,
      BASALT_ADOPT_DATABASE: '1',
      PGRST_DB_POOL: String(pool),
    })
    return {
      name: 'Basalt',
      url: `${server.access.url}/rest/v1`,
      pid: server.process.pid,
      headers: { apikey: server.access.anonKey },
    }
  }

  /** Starts PostgREST, and a Basalt in its place. */
  async #postgrest(measured) {
    const settings = {
      PGRST_DB_URI: this.login.uri,
      PGRST_DB_POOL: String(pool),
      PGRST_DB_SCHEMAS: 'public',
      PGRST_DB_EXTRA_SEARCH_PATH: 'public, extensions',
      PGRST_DB_ANON_ROLE: 'anon',
      PGRST_DB_MAX_ROWS: '1000',
      PGRST_JWT_SECRET: this.#secret,
      // Off by default; Basalt keeps verified tokens, too.
      PGRST_JWT_CACHE_MAX_LIFETIME: '3600',
    }
    const server = this.#running.add(await PostgREST.start(settings))
    /** @type {Peer} */
    this.postgrest = { name: 'PostgREST', url: server.url, pid: server.pid, headers: {} }
    const standIn = await PostgREST.startStandIn(measured, { ...settings, BASALT_LOG: 'warn' })
    this.#running.add(standIn)
    /** @type {Peer} */
    this.standIn = { name: 'Basalt in its place', url: standIn.url, pid: standIn.pid, headers: {} }
  }

  /**
   * Starts a Basalt. Both derive the login roles' passwords from the one secret. Neither writes a line for each
   * request, as PostgREST does not by default.
   */
  async #start(binary, settings = {}) {
    const env = { ...quiet, JWT_SECRET: this.#secret, ...settings }
    const server = await Server.start({ binary, project: import.meta.dirname, only: ['rest'], env })
    return this.#running.add(server)
  }
}
