import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { freePort } from '../lib/ports.mjs'

const run = promisify(execFile)

const admin = { identity: 'admin@bench.example', password: 'bench-password' }
/** How long a start may take, in milliseconds. */
const startLimit = 30_000

/** A PocketBase with a collection `posts` that everybody may read and add to. */
export class PocketBase {
  /**
   * Starts `binary` on an empty folder and fills the collection with so many rows.
   * @param {string} binary
   * @param {number} rows
   */
  static async start(binary, rows) {
    const folder = await mkdtemp(path.join(tmpdir(), 'pocketbase-'))
    await run(binary, ['superuser', 'upsert', admin.identity, admin.password, '--dir', folder])
    const port = await freePort()
    const server = new PocketBase(binary, folder, port)
    await server.#ready()
    await server.#fill(rows)
    return server
  }

  constructor(binary, folder, port) {
    this.folder = folder
    this.url = `http://127.0.0.1:${String(port)}`
    const begin = performance.now()
    this.process = spawn(
      binary,
      ['serve', '--http', `127.0.0.1:${String(port)}`, '--dir', folder],
      {
        stdio: 'ignore',
      },
    )
    this.begin = begin
    /** How long the start took, in milliseconds. */
    this.startedIn = 0
    /** The id of a row. */
    this.id = ''
  }

  async #ready() {
    while (performance.now() - this.begin < startLimit) {
      const answer = await fetch(`${this.url}/api/health`).catch(() => undefined)
      if (answer?.ok) {
        this.startedIn = Math.round(performance.now() - this.begin)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    throw new Error('PocketBase did not answer in time')
  }

  async #fill(rows) {
    const { token } = await this.#post('collections/_superusers/auth-with-password', admin)
    const text = (name) => ({ name, type: 'text' })
    await this.#post(
      'collections',
      {
        name: 'posts',
        type: 'base',
        fields: [
          text('title'),
          text('body'),
          { name: 'created', type: 'autodate', onCreate: true },
        ],
        indexes: ['create index idx_posts_created on posts (created)'],
        listRule: '',
        viewRule: '',
        createRule: '',
      },
      token,
    )
    for (let number = 1; number <= rows; number += 1) {
      const body = { title: `Post ${String(number)}`, body: 'text '.repeat(40) }
      this.id = (await this.#post('collections/posts/records', body)).id
    }
  }

  async #post(target, body, token) {
    const answer = await fetch(`${this.url}/api/${target}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token ? { authorization: token } : {}) },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`PocketBase: ${target}: ${await answer.text()}`)
    return answer.json()
  }

  async stop() {
    if (this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.once('exit', resolve))
      this.process.kill('SIGTERM')
      await ended
    }
    await rm(this.folder, { recursive: true, force: true })
  }
}
