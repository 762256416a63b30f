import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

import { Postgres } from '../lib/postgres.mjs'
import { memory } from '../lib/processes.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Running } from '../lib/running.mjs'
import { median } from '../lib/statistics.mjs'
import { heading, mebibytes, row } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'

const name = 'basalt_catalog'
/** How often the catalog is read again. */
const reloads = 5
/** The longest that a start or a reload may take, in milliseconds. */
const limit = 60_000
/** What should hold on a quiet machine: milliseconds of a reload, bytes that the cache adds. */
const targets = { time: 1000, memory: 50 * 2 ** 20 }

/**
 * Makes a server read the catalog of schema.sql several times, and prints how long that takes and what it costs.
 * @param {string} binary
 */
export async function schemaCache(binary) {
  heading('The schema cache of 550 relations and 5,001 functions')
  const running = new Running()
  try {
    const project = path.join(import.meta.dirname, '../rest')
    const host = running.add(await Server.start({ binary, project, only: ['rest'], env: quiet }))
    const cluster = await Postgres.of(host)
    await cluster.sql(`create database ${name} template template0`)
    const database = cluster.as({ name })
    const rest = running.add(await Rest.start(binary, database.uri))
    await rest.reload()
    const empty = memory(rest.pid).now
    await database.file(path.join(import.meta.dirname, 'schema.sql'))
    const times = []
    for (let turn = 0; turn < reloads; turn += 1) times.push(await rest.reload())
    const { now, peak } = memory(rest.pid)
    const time = median(times)
    row('from the signal to the new cache', `${Math.round(time)} ms, target ${targets.time} ms`)
    row('of it: the query', `${Math.round(await rest.queryTime())} ms`)
    row('server with an empty catalog, RSS', mebibytes(empty))
    row(
      `growth after ${reloads} reloads, RSS`,
      `${mebibytes(now - empty)}, target ${mebibytes(targets.memory)}`,
    )
    row('peak, with two caches and the text of one', mebibytes(peak))
  } finally {
    await running.stop()
  }
}

/** `basalt postgrest` on a plain database. */
class Rest {
  /**
   * Starts it on free ports and waits until it has loaded a catalog.
   * @param {string} binary
   * @param {string} uri
   */
  static async start(binary, uri) {
    const child = spawn(binary, ['postgrest'], {
      env: {
        BASALT_LOG: 'warn',
        BASALT_LOG_FORMAT: 'text',
        PGRST_DB_URI: uri,
        PGRST_SERVER_HOST: '127.0.0.1',
        PGRST_SERVER_PORT: '0',
        PGRST_ADMIN_SERVER_PORT: '0',
        PGRST_DB_ANON_ROLE: 'postgres',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const places = await announced(child)
    return new Rest(child, `http://${places['Admin server']}`)
  }

  constructor(child, admin) {
    this.process = child
    this.pid = child.pid
    this.admin = admin
  }

  /** Has the catalog read again, and returns how many milliseconds that took. */
  async reload() {
    const before = await this.#metric('schema_cache_loads_total{status="SUCCESS"}')
    const begin = performance.now()
    this.process.kill('SIGUSR1')
    while ((await this.#metric('schema_cache_loads_total{status="SUCCESS"}')) === before) {
      if (performance.now() - begin > limit) throw new Error('the catalog was not read again')
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return performance.now() - begin
  }

  /** Returns how many milliseconds the last query of the catalog took. */
  async queryTime() {
    return (await this.#metric('schema_cache_query_time_seconds')) * 1000
  }

  async #metric(wanted) {
    const response = await fetch(`${this.admin}/metrics`, { signal: AbortSignal.timeout(limit) })
    const line = (await response.text())
      .split('\n')
      .find((line) => line.startsWith(`pgrst_${wanted} `))
    return Number(line?.split(' ').at(-1))
  }

  async stop() {
    if (this.process.exitCode !== null) return
    const ended = once(this.process, 'exit')
    this.process.kill('SIGTERM')
    await ended
  }
}

/**
 * Returns the addresses that a server says it listens on, once it listens on all of them.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<Record<string, string>>}
 */
function announced(child) {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), limit)
    const read = (chunk) => {
      output += chunk.toString()
      const places = Object.fromEntries(
        Array.from(output.matchAll(/^(.*) listening on (\S+)$/gm), ([, what, where]) => [
          what,
          where,
        ]),
      )
      if (!('API server' in places)) return
      clearTimeout(timer)
      // What is written from here on is read so that the pipe never fills, and not kept.
      child.stderr.off('data', read).resume()
      resolve(places)
    }
    child.stderr.on('data', read)
    child.once('exit', () => reject(new Error(`Basalt did not start:\n${output}`)))
  })
}
