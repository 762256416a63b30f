import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Bare SQL as pgbench runs it.
 * @typedef {object} Script
 * @property {string} sql one statement; `:name` stands for a variable
 * @property {Record<string, [number, number]>} [variables] random integers of these ranges
 * @property {string} [role] the role that it runs as, `anon` by default
 * @property {string} [claims] an SQL expression of the claims' text
 * @property {boolean} [writes] whether it changes rows
 */

/**
 * Runs a script over so many connections to `database` and returns transactions per second and their number.
 *
 * Settings and statement go to Postgres as a server of the REST interface should send them: prepared, in one
 * pipeline, as one implicit transaction. It contains no step that such a server could omit.
 * @param {Record<string, string>} database PGHOST and the like, as the login role of the servers
 * @param {Script} script
 * @param {{ connections: number, seconds: number, rate?: number }} how `rate` is that of transactions a second; without
 *   it, as many as can be
 */
export async function pgbench(database, script, how) {
  return measure(database, text(script), how)
}

/**
 * Runs statements as a server was seen to send them, in one pipeline, as often as can be; returns transactions per
 * second and their number.
 * @param {Record<string, string>} database PGHOST and the like
 * @param {(import('./recorder.mjs').Statement & { names?: Record<string, string> })[]} statements where `names` has a
 *   parameter's value, its variable stands in the parameter's place
 * @param {Record<string, [number, number]>} variables random integers of these ranges
 * @param {{ connections: number, seconds: number }} how
 */
export async function replay(database, statements, variables, how) {
  const constants = []
  const texts = statements.map(({ sql, parameters, names = {} }, number) =>
    sql.replaceAll(/\$(\d+)/g, (_, index) => {
      const value = parameters[index - 1]
      if (value === null) return 'null'
      if (value in names) return `:${names[value]}`
      const name = `constant_${number}_${index}`
      constants.push('-D', `${name}=${value}`)
      return `:${name}`
    }),
  )
  return measure(database, pipeline(variables, texts), how, constants)
}

async function measure(database, script, { connections, seconds, rate }, flags = []) {
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-pgbench-'))
  try {
    const file = path.join(folder, 'script.sql')
    await writeFile(file, script)
    const how = ['-c', connections, '-j', Math.min(2, connections), '-T', Math.ceil(seconds)].map(
      String,
    )
    if (rate !== undefined) how.push('-R', String(rate))
    const { stdout } = await run(
      process.env.PGBENCH ?? 'pgbench',
      ['-n', '-M', 'prepared', ...how, ...flags, '-f', file],
      {
        env: { ...process.env, ...database },
        timeout: seconds * 1000 + 60_000,
      },
    )
    return {
      per_second: Number(/tps = ([\d.]+)/.exec(stdout)[1]),
      asked: Number(/transactions actually processed: (\d+)/.exec(stdout)[1]),
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** @param {Script} script */
function text({
  sql,
  variables = {},
  role = 'anon',
  claims = `'{"role":"${role}"}'`,
  writes = false,
}) {
  const settings = {
    search_path: `'"public", "extensions"'`,
    role: `'${role}'`,
    'request.jwt.claims': claims,
    'request.method': `'${writes ? 'POST' : 'GET'}'`,
    'request.path': `'/table'`,
    'request.headers': `'{"host":"127.0.0.1"}'`,
    'request.cookies': `'{}'`,
    ...(writes ? {} : { transaction_read_only: `'on'` }),
  }
  // Conditions, unlike a select list, send no value back.
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config('${name}', ${value}, true) is null`,
  )
  return pipeline(variables, [
    `select where ${calls.join(' or ')}`,
    sql.trim().replaceAll(/\s+/g, ' '),
  ])
}

/** Returns a script that sends `statements` in one pipeline. */
function pipeline(variables, statements) {
  return [
    ...Object.entries(variables).map(
      ([name, [first, last]]) => `\\set ${name} random(${first}, ${last})`,
    ),
    '\\startpipeline',
    ...statements.map((statement) => `${statement};`),
    '\\endpipeline',
    '',
  ].join('\n')
}
