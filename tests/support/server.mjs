import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The repository, which is a project that Basalt serves. */
const repository = path.resolve(import.meta.dirname, '../..')

/** The longest that a start on an empty data folder may take, in milliseconds. */
const startLimit = 120_000

/**
 * What is needed to talk to a server.
 * @typedef {{ url: string, anonKey: string, serviceKey: string }} Access
 */

/**
 * How to start a server.
 * @typedef {object} Options
 * @property {string} [binary] by default the one named by BASALT_BINARY, else the debug build
 * @property {string} [dataDir] the data folder, by default an empty one
 * @property {string} [project] the project's folder, by default the repository
 * @property {string[]} [only] the parts to serve, by default all
 * @property {Record<string, string>} [env] settings beside those of this process's environment
 */

/** A Basalt of one's own, on free ports, for tests and benchmarks. */
export class Server {
  /**
   * Starts a server and waits until it says that it is ready.
   * @param {Options} [options]
   * @returns {Promise<Server>}
   */
  static async start(options = {}) {
    const dataDir = options.dataDir ?? (await mkdtemp(path.join(tmpdir(), 'basalt-test-')))
    return new Server(path.resolve(options.binary ?? defaultBinary()), dataDir, options).ready()
  }

  /**
   * @param {string} binary
   * @param {string} dataDir
   * @param {Options} [options]
   */
  constructor(binary, dataDir, { project = repository, only = [], env = {} } = {}) {
    this.binary = binary
    /** Where its data lies. */
    this.dataDir = dataDir
    this.project = project
    this.environment = { ...process.env, ...env }
    /** @type {Access} */
    this.access = { url: '', anonKey: '', serviceKey: '' }
    /** How long the start took, in milliseconds. */
    this.startedIn = 0
    const begin = performance.now()
    const parts = only.length > 0 ? ['--only', only.join(',')] : []
    this.process = spawn(binary, ['serve', ...this.#place(), '--port', '0', ...parts], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: this.environment,
    })
    /** Where its mails are shown. */
    this.inboxUrl = ''
    this.announced = announced(this.process).then(({ url, inboxUrl }) => {
      this.inboxUrl = inboxUrl
      this.startedIn = Math.round(performance.now() - begin)
      return url
    })
  }

  async ready() {
    const url = await this.announced
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
   * Runs SQL as an admin does: with psql, as the superuser.
   * @param {string} sql
   * @returns {Promise<string>} the rows without decoration, one a line
   */
  async psql(sql) {
    return (await this.#command('psql', '--', '-qAt', '-v', 'ON_ERROR_STOP=1', '-c', sql)).trim()
  }

  /** What `basalt gen types typescript` prints. */
  types() {
    return this.#command('gen', 'types', 'typescript')
  }

  /** The process id of the embedded Postgres. */
  async postgresPid() {
    return Number((await this.psql("select pg_read_file('postmaster.pid')")).split('\n')[0])
  }

  /**
   * Ends the server as Ctrl-C does and removes its data.
   * @param {{ keepData?: boolean }} [options]
   */
  async stop({ keepData = false } = {}) {
    if (this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.once('exit', resolve))
      this.process.kill('SIGINT')
      await ended
    }
    if (!keepData) await rm(this.dataDir, { recursive: true, force: true })
  }

  #place() {
    return ['--project', this.project, '--data-dir', this.dataDir]
  }

  /**
   * @param {string} name
   * @param {string[]} rest
   */
  async #command(name, ...rest) {
    return (await run(this.binary, [name, ...this.#place(), ...rest], { env: this.environment }))
      .stdout
  }
}

function defaultBinary() {
  return process.env.BASALT_BINARY ?? path.join(repository, 'target/debug/basalt')
}

/**
 * The API's URL and that of the inbox, as the server prints them when it is ready.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<{ url: string, inboxUrl: string }>}
 */
function announced(child) {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), startLimit)
    /** @param {Buffer} chunk */
    const read = (chunk) => {
      output += chunk.toString()
      const url = /^\s*API\s+(http:\/\/\S+)/m.exec(output)?.[1]
      if (url !== undefined && output.includes('Ctrl-C')) {
        const inboxUrl = /^\s*Mails\s+(http:\/\/\S+)/m.exec(output)?.[1] ?? ''
        clearTimeout(timer)
        // What is written from here on is read so that the pipe never fills, and not kept.
        for (const stream of [child.stdout, child.stderr]) stream?.off('data', read).resume()
        resolve({ url: url.replace(/\/$/, ''), inboxUrl })
      }
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`the server ended with ${String(code)}:\n${output}`))
    })
  })
}
