import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { freePort } from '../lib/ports.mjs'
import { responds, Service } from '../../tests/support/service.mjs'

const run = promisify(execFile)

const admin = { identity: 'admin@bench.example', password: 'bench-password' }

/** A PocketBase with a collection `posts` that everybody may read and add to. */
export class PocketBase extends Service {
  /**
   * Starts `binary` on an empty folder and fills the collection with so many rows.
   * @param {string} binary
   * @param {number} rows
   */
  static async start(binary, rows) {
    const folder = await mkdtemp(path.join(tmpdir(), 'pocketbase-'))
    await run(binary, ['superuser', 'upsert', admin.identity, admin.password, '--dir', folder])
    const server = new PocketBase(binary, folder, await freePort())
    const begin = performance.now()
    await server.start()
    server.startedIn = Math.round(performance.now() - begin)
    await server.#fill(rows)
    return server
  }

  constructor(binary, folder, port) {
    const url = `http://127.0.0.1:${String(port)}`
    super({
      command: [binary, 'serve', '--http', `127.0.0.1:${String(port)}`, '--dir', folder],
      isReady: () => responds(`${url}/api/health`),
      // The duration of the start is a figure.
      interval: 5,
    })
    this.folder = folder
    this.url = url
    /** How long the start took, in milliseconds. */
    this.startedIn = 0
    /** The id of a row. */
    this.id = ''
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
    const response = await fetch(`${this.url}/api/${target}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token ? { authorization: token } : {}) },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`PocketBase: ${target}: ${await response.text()}`)
    return response.json()
  }

  async stop() {
    await super.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}
