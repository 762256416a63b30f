import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { end, forget, track } from './programs.mjs'

const run = promisify(execFile)

/** The repository, which is a project that Basalt serves. */
const repository = path.resolve(import.meta.dirname, '../..')

/** The longest that a start on an empty data folder may take, in milliseconds. */
const startLimit = 120_000
/** How long a server may take to end before it is killed, in milliseconds. */
const stopLimit = 60_000

/** The variable that names a data folder of which new servers get a copy; without it, theirs is empty. */
const PREPARED = 'BASALT_TEST_DATA_DIR'

/**
 * What is needed to talk to a server.
 * @typedef {{ url: string, anonKey: string, serviceKey: string }} Access
 */

/**
 * What identifies a server to Basalt's commands.
 * @typedef {{ binary: string, dataDir: string, project: string }} Instance
 */

/**
 * How to start a server.
 * @typedef {object} Options
 * @property {string} [binary] by default the one named by BASALT_BINARY, else the debug build
 * @property {string} [dataDir] the data folder, by default a new one
 * @property {string[]} [folders] further folders that are removed with its data
 * @property {string} [project] the project's folder, by default the repository
 * @property {number} [port] the port of the API, by default a free one
 * @property {string[]} [only] the parts to serve, by default all
 * @property {string[]} [command] the words that serve, in place of `serve` with the port and the parts
 * @property {Record<string, string>} [env] settings beside those of this process's environment
 * @property {string[]} [entering] words before its command line, of a program that becomes it
 * @property {import('../../bench/lib/network.mjs').Network} [network] the one that it runs in, if not this machine's
 * @property {boolean} [keepsLog] whether all that it writes is kept
 */

/** A Basalt of one's own, on free ports, for tests and benchmarks. */
export class Server {
  /**
   * Starts a server and waits until it reports that it is ready.
   * @param {Options} [options]
   * @returns {Promise<Server>}
   */
  static async start(options = {}) {
    const dataDir = options.dataDir ?? (await newDataDir(options.env?.DATABASE_URL === undefined))
    const server = new Server(path.resolve(options.binary ?? defaultBinary()), dataDir, options)
    try {
      return await server.ready()
    } catch (error) {
      await server.stop({ keepData: options.dataDir !== undefined })
      throw error
    }
  }

  /**
   * @param {string} binary
   * @param {string} dataDir
   * @param {Options} [options]
   */
  constructor(binary, dataDir, options = {}) {
    const {
      project = repository,
      folders = [],
      port = 0,
      only = [],
      command: own,
      env = {},
      entering = [],
      network,
      keepsLog,
    } = options
    this.binary = binary
    /** Its data folder. */
    this.dataDir = dataDir
    this.folders = [dataDir, ...folders]
    this.project = project
    // As text, since the announcement is read.
    // Several servers of one project run at the same time.
    const always = {
      BASALT_LOG_FORMAT: 'text',
      BASALT_INBOX_PORT: '0',
      BASALT_ANY_PORT: 'true',
    }
    const host = network && { BASALT_HOST: network.inside }
    this.environment = { ...process.env, ...always, ...host, ...env }
    /** @type {Access} */
    this.access = { url: '', anonKey: '', serviceKey: '' }
    /** Where the mails are that it keeps instead of sending them; empty where it sends them. */
    this.inboxUrl = ''
    /** Where its metrics are. */
    this.adminUrl = ''
    /** What it has written, with `keepsLog`. */
    this.log = ''
    /** How long the start took, in milliseconds. */
    this.startedIn = 0
    const begin = performance.now()
    const parts = only.length > 0 ? ['--only', only.join(',')] : []
    const serve = own ?? ['serve', '--port', String(port), ...parts]
    const flags = ['--project', project, '--data-dir', dataDir]
    const [program = '', ...words] = [
      ...(network?.entering ?? entering),
      ...[binary, ...serve, ...flags],
    ]
    this.process = spawn(program, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: this.environment,
    })
    track(this.process, () => this.stop())
    if (keepsLog) {
      for (const stream of [this.process.stdout, this.process.stderr]) {
        stream?.on('data', (chunk) => (this.log += chunk))
      }
    }
    this.announced = announcement(this.process).then((addresses) => {
      this.startedIn = Math.round(performance.now() - begin)
      return addresses
    })
  }

  async ready() {
    const { url, inboxUrl, adminUrl } = await this.announced
    this.inboxUrl = inboxUrl
    this.adminUrl = adminUrl
    const lines = (await this.#command('keys', '--show')).matchAll(/^(\w+)=(.*)$/gm)
    const keys = new Map(Array.from(lines, ([, name, value]) => [name, value]))
    this.access = {
      url,
      anonKey: keys.get('ANON_KEY') ?? '',
      serviceKey: keys.get('SERVICE_ROLE_KEY') ?? '',
    }
    return this
  }

  /**
   * Runs SQL as an admin does: with psql, as postgres.
   * @param {string} sql
   * @returns {Promise<string>} the rows without decoration, one a line
   */
  async psql(sql) {
    return psql(this.instance, sql, this.environment)
  }

  /** @returns {Instance} */
  get instance() {
    return { binary: this.binary, dataDir: this.dataDir, project: this.project }
  }

  /**
   * Returns what `basalt status` tells, by the names of `supabase status`: DB_URL, JWT_SECRET and so on.
   * @returns {Promise<Record<string, string>>}
   */
  async status() {
    return JSON.parse(await this.#command('status', '-o', 'json'))
  }

  /** Returns what `basalt gen types typescript` prints. */
  types() {
    return this.#command('gen', 'types', 'typescript')
  }

  /** Resets the project's database while the server runs. */
  async resetDatabase() {
    await this.#command('db', 'reset', '--yes')
  }

  /**
   * Returns name and password of the embedded Postgres' superuser.
   * @returns {Promise<{ user: string, password: string }>}
   */
  async superuser() {
    return superuser(this.instance)
  }

  /** Returns the process id of the embedded Postgres. */
  async postgresPid() {
    const file = await psqlAsSuperuser(this.instance, "select pg_read_file('postmaster.pid')")
    return Number(file.split('\n')[0])
  }

  /**
   * Ends the server as Ctrl-C does and removes its data.
   * @param {{ keepData?: boolean }} [options]
   */
  async stop({ keepData = false } = {}) {
    await end(this.process, 'SIGINT', stopLimit)
    if (keepData) return
    await Promise.all(this.folders.map((folder) => rm(folder, { recursive: true, force: true })))
    forget(this.process)
  }

  /** Kills the server; its data stays. */
  async kill() {
    await end(this.process, 'SIGKILL', stopLimit)
  }

  /**
   * @param {string} name
   * @param {string[]} rest
   */
  #command(name, ...rest) {
    return command(this.instance, this.environment, name, ...rest)
  }
}

/**
 * Lets the servers that this process and its children start from here on find the platform's schema in their data
 * folders, which saves most of the time of a first start.
 * @returns {Promise<() => Promise<void>>} ends that
 */
export async function prepareDataDir() {
  const project = await mkdtemp(path.join(tmpdir(), 'basalt-empty-'))
  await writeFile(path.join(project, 'config.toml'), '')
  const server = await Server.start({ project, folders: [project], only: ['rest'] })
  await server.stop({ keepData: true })
  process.env[PREPARED] = server.dataDir
  return async () => {
    delete process.env[PREPARED]
    await server.stop()
  }
}

/** Makes a data folder; `hasDatabase` says whether the server will have its database there. */
async function newDataDir(/** @type {boolean} */ hasDatabase) {
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-test-'))
  const prepared = process.env[PREPARED]
  // With the owners of the files: Postgres does not run as root.
  if (prepared && hasDatabase) await run('cp', ['-a', `${prepared}/.`, folder])
  return folder
}

/**
 * Runs SQL on the database of the server `instance`, as its administrator.
 * @param {Instance} instance
 * @param {string} sql
 * @param {NodeJS.ProcessEnv} [environment]
 * @param {string[]} [login] flags of psql
 * @returns {Promise<string>} the rows without decoration, one a line
 */
export async function psql(instance, sql, environment = process.env, login = []) {
  const flags = [...login, '-qAt', '-v', 'ON_ERROR_STOP=1', '-c', sql]
  return (await command(instance, environment, 'psql', '--', ...flags)).trim()
}

/**
 * Runs SQL on the embedded database of the server `instance`, as its superuser.
 * @param {Instance} instance
 * @param {string} sql
 * @returns {Promise<string>} the rows without decoration, one a line
 */
export async function psqlAsSuperuser(instance, sql) {
  const { user } = await superuser(instance)
  return psql(instance, sql, process.env, ['-U', user])
}

/**
 * @param {Instance} instance
 * @returns {Promise<{ user: string, password: string }>}
 */
async function superuser({ dataDir }) {
  const [line = ''] = (await readFile(path.join(dataDir, 'pgpass'), 'utf8')).split('\n')
  const [user = '', password = ''] = line.split(':').slice(3)
  return { user, password }
}

/**
 * @param {Instance} instance
 * @param {NodeJS.ProcessEnv} env
 * @param {string} name
 * @param {string[]} rest
 */
async function command({ binary, dataDir, project }, env, name, ...rest) {
  const flags = ['--project', project, '--data-dir', dataDir]
  return (await run(binary, [name, ...flags, ...rest], { env })).stdout
}

/** Returns the path of the program that is tested. */
export function defaultBinary() {
  return process.env.BASALT_BINARY ?? path.join(repository, 'target/debug/basalt')
}

/**
 * Returns what the server prints when it is ready: the API's URL, that of the mails it keeps, and that of its metrics.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<{ url: string, inboxUrl: string, adminUrl: string }>}
 */
function announcement(child) {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), startLimit)
    /** @param {string} name */
    const address = (name) =>
      new RegExp(`^\\s*${name}\\s+(http://\\S+)`, 'm').exec(output)?.[1]?.replace(/\/$/, '') ?? ''
    /** @param {Buffer} chunk */
    const read = (chunk) => {
      output += chunk.toString()
      if (output.includes('Ctrl-C stops everything')) {
        clearTimeout(timer)
        // What is written from here on is read so that the pipe never fills, and not kept.
        for (const stream of [child.stdout, child.stderr]) stream?.off('data', read).resume()
        const adminUrl = address('Metrics, health').replace(/\/metrics.*$/, '')
        resolve({ url: address('API'), inboxUrl: address('Mails'), adminUrl })
      }
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`the server ended with ${String(code)}:\n${output}`))
    })
  })
}
