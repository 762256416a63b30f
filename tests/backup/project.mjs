import { setTimeout as pause } from 'node:timers/promises'

import { basalt } from '../support/backup.mjs'
import { Server } from '../support/server.mjs'
import { NO_BYTES } from './journal.mjs'
import { kill, postmaster } from './processes.mjs'
import { bucket, stateOf } from './writers.mjs'

/** Downloads at the same time. */
const readers = 6

/** The server that makes backups, at the same address however often it is started. */
export class Original {
  /** @type {Server | undefined} */
  #server

  /** @param {import('../support/server.mjs').Options & { dataDir: string }} options */
  constructor(options) {
    this.options = { ...options, keepsLog: true }
    /** What all runs have written. */
    this.log = ''
  }

  get server() {
    if (!this.#server) throw new Error('the server has not been started')
    return this.#server
  }

  async start() {
    this.#server = await Server.start(this.options)
  }

  async kill() {
    await this.server.kill()
    this.log += this.server.log
  }

  /** Kills all of it: the server, then Postgres, whose other processes end with the first one. */
  async killAll() {
    const pid = await postmaster(this.options.dataDir)
    await this.kill()
    kill(pid)
  }

  async stop() {
    await this.server.stop({ keepData: true })
    this.log += this.server.log
  }

  /** @param {string[]} words */
  async run(...words) {
    const outcome = await basalt(this.server.instance, words, this.server.environment)
    if (outcome.status !== 0) throw new Error(`${words.join(' ')} failed:\n${outcome.output}`)
    return outcome.output
  }

  /** Waits until there is a backup that has been verified; returns when the first one ended. */
  async firstBackup() {
    for (;;) {
      const list = await this.run('backup', 'list')
      if (list.includes(' ok')) {
        const [, ended = ''] = /ended: (\S+ \S+)/.exec(list) ?? []
        return Date.parse(`${ended}:00`)
      }
      await pause(500)
    }
  }
}

/**
 * Returns what a project has: the states of rows, objects and users by their keys.
 * @param {Server} server
 * @returns {Promise<Map<string, string>>}
 */
export async function stateOfProject(server) {
  /** @type {Map<string, string>} */
  const found = new Map()
  const read = async (/** @type {string} */ kind, /** @type {string} */ sql) => {
    const lines = (await server.psql(sql)).split('\n').filter(Boolean)
    for (const line of lines) {
      const [id, state = ''] = line.split('|')
      found.set(`${kind} ${id}`, state)
    }
  }
  await read('row', 'select id, state from public.drill')
  await read(
    'user',
    `select split_part(email, '@', 1), raw_user_meta_data ->> 'state' from auth.users`,
  )
  await read('object', `select name, 'row' from storage.objects where bucket_id = '${bucket}'`)
  const names = Array.from(found.keys()).filter((key) => key.startsWith('object '))
  const download = async () => {
    for (let key = names.pop(); key !== undefined; key = names.pop()) {
      found.set(key, await stateOfObject(server, key.slice('object '.length)))
    }
  }
  await Promise.all(Array.from({ length: readers }, download))
  return found
}

/**
 * Returns the state of an object.
 * @param {Server} server
 * @param {string} name
 */
async function stateOfObject({ access }, name) {
  const { url, serviceKey } = access
  const response = await fetch(`${url}/storage/v1/object/${bucket}/${name}`, {
    headers: { authorization: `Bearer ${serviceKey}` },
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return response.ok ? stateOf(bytes) : NO_BYTES
}

/**
 * Restores `original` into `dataDir` as it was at `moment`, or at the end; returns what it has, and the seconds of the
 * restore and of the start.
 * @param {Original} original
 * @param {string} dataDir
 * @param {{ passphraseFile: string, target: string, moment?: number }} options
 */
export async function restore(original, dataDir, { passphraseFile, target, moment }) {
  const { project = '', env } = original.options
  const { binary } = original.server
  const to = moment === undefined ? [] : ['--to', text(moment)]
  const flags = ['--target', target, '--passphrase-file', passphraseFile, ...to]
  const begin = performance.now()
  /** @type {NodeJS.ProcessEnv} */
  const environment = { ...process.env, ...env }
  delete environment.BASALT_BACKUP_PASSPHRASE
  const outcome = await basalt({ binary, dataDir, project }, ['restore', ...flags], environment)
  if (outcome.status !== 0) throw new Error(`restore ${to.join(' ')} failed:\n${outcome.output}`)
  const restored = performance.now()
  const server = await Server.start({ dataDir, project, env: { ...env, BASALT_LOG: 'warn' } })
  const started = performance.now()
  try {
    const found = await stateOfProject(server)
    return {
      found,
      output: outcome.output.trim(),
      restoreSeconds: (restored - begin) / 1000,
      startSeconds: (started - restored) / 1000,
    }
  } finally {
    await server.stop()
  }
}

/** Writes a moment as Postgres does. */
export const text = (/** @type {number} */ moment) =>
  new Date(moment).toISOString().replace('T', ' ').replace('Z', '+00')
