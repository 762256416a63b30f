import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The longest that SQL may take, in milliseconds. */
const limit = 300_000

/** A database of a cluster, as one of its users reaches it: over the cluster's unix socket. */
export class Postgres {
  /**
   * @param {{ folder: string, port: string, user: string, password: string, name: string, options?: string }} connection
   */
  constructor(connection) {
    this.connection = connection
  }

  /**
   * Returns the embedded cluster of a running server, as its superuser.
   * @param {import('../../tests/support/server.mjs').Server} server
   */
  static async of(server) {
    const settings = `split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')`
    const [folder, port] = (await server.psql(`select ${settings}`)).split('|')
    // Its sessions search no schema of a project and run no event triggers by themselves.
    const options = '-c search_path=public,extensions -c event_triggers=on'
    return new Postgres({
      folder,
      port,
      ...(await server.superuser()),
      name: 'postgres',
      options,
    })
  }

  /** Returns another database, or the same one, for another user, whose sessions are as they are by default. */
  as(change) {
    const { options, ...same } = this.connection
    return new Postgres(
      change.user === undefined ? { ...same, options, ...change } : { ...same, ...change },
    )
  }

  /** Returns the connection URI. Holds the password. */
  get uri() {
    const { folder, port, user, password, name } = this.connection
    return `postgresql://${user}:${encodeURIComponent(password)}@${encodeURIComponent(folder)}:${port}/${name}`
  }

  /** Returns the environment variables by which libpq's programs find it. */
  get environment() {
    const { folder, port, user, password, name, options = '' } = this.connection
    return {
      PGHOST: folder,
      PGPORT: port,
      PGUSER: user,
      PGPASSWORD: password,
      PGDATABASE: name,
      PGOPTIONS: options,
    }
  }

  /**
   * Runs SQL with psql, each argument by itself, and returns the rows without decoration.
   * @param {...string} statements
   */
  async sql(...statements) {
    return this.#psql(...statements.flatMap((statement) => ['-c', statement]))
  }

  /**
   * Runs a file of SQL.
   * @param {string} name
   * @param {Record<string, string | number>} [variables] what `:name` stands for in it
   */
  async file(name, variables = {}) {
    const set = Object.entries(variables).flatMap(([name, value]) => ['-v', `${name}=${value}`])
    return this.#psql(...set, '-f', name)
  }

  async #psql(...what) {
    const flags = ['-X', '-qAt', '-v', 'ON_ERROR_STOP=1', ...what]
    const { stdout } = await run(process.env.PSQL ?? 'psql', flags, {
      env: { ...process.env, ...this.environment },
      timeout: limit,
    })
    return stdout.trim()
  }
}
