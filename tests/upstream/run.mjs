/**
 * Starts upstream's own services, runs the conformance kit against them, and prints in which cases they differ and why,
 * as far as it is known (known.mjs). Arguments go to the kit. Ends with 1 where a difference is not known, or one that
 * is known does not come. With `--serve` it starts the services, prints how to reach them, and waits for Ctrl-C.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { reasonOf } from './known.mjs'
import { Stack } from './stack.mjs'

/**
 * @typedef {{ request: string, expected: string, got: string }} Check
 * @typedef {{ name: string, interface: string, state: string, reason: string, difference: Check | null }} Outcome
 */

const kit = path.resolve(import.meta.dirname, '../conformance')
const given = process.argv.slice(2)

const stack = await Stack.start()
try {
  process.exitCode = given.includes('--serve') ? await serve() : await run()
} finally {
  await stack.stop()
}

/** Prints what a client needs, and waits for a signal. */
async function serve() {
  for (const [name, value] of Object.entries(stack.access)) console.log(`${name}=${value}`)
  await new Promise((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
  return 0
}

async function run() {
  const folder = await mkdtemp(path.join(tmpdir(), 'upstream-report-'))
  try {
    const at = given.indexOf('--json')
    const report = (at >= 0 && given[at + 1]) || path.join(folder, 'report.json')
    const status = await ask(at >= 0 ? given : [...given, '--json', report])
    // Whatever differs is judged here; anything else has kept the kit from asking.
    if (status > 1) return status
    const { groups } = JSON.parse(await readFile(report, 'utf8'))
    return tell(groups.flatMap((/** @type {{ outcomes: Outcome[] }} */ { outcomes }) => outcomes))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/**
 * Runs the kit, and returns its exit status.
 * @param {string[]} args
 * @returns {Promise<number>}
 */
function ask(args) {
  const { API_URL, ANON_KEY, SERVICE_ROLE_KEY, DB_URL, ...access } = stack.access
  const env = {
    ...process.env,
    ...access,
    SUPABASE_URL: API_URL,
    SUPABASE_ANON_KEY: ANON_KEY,
    SUPABASE_SERVICE_ROLE_KEY: SERVICE_ROLE_KEY,
    DATABASE_URL: DB_URL,
  }
  const child = spawn(process.execPath, [path.join(kit, 'dist/cli.js'), ...args], {
    env,
    stdio: ['inherit', 'ignore', 'inherit'],
  })
  // Ctrl-C reaches both; the kit cleans up before the services end.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return new Promise((resolve) => child.once('exit', (status) => resolve(status ?? 130)))
}

/**
 * Prints the outcomes, and returns the exit status.
 * @param {Outcome[]} outcomes
 */
function tell(outcomes) {
  const differing = outcomes.filter(({ state }) => state === 'differs')
  const known = differing.filter(({ name }) => reasonOf(name))
  const unknown = differing.filter(({ name }) => !reasonOf(name))
  const gone = outcomes.filter(({ name, state }) => state === 'holds' && reasonOf(name))
  for (const { name } of known) console.log(`differs    ${name}: ${reasonOf(name)}`)
  for (const { name } of gone) console.log(`holds now  ${name}: ${reasonOf(name)}`)
  for (const { name, difference } of unknown) {
    const { request = '', expected = '', got = '' } = difference ?? {}
    console.log(`UNKNOWN    ${name}\n  ${request}\n  expected ${expected}\n  got      ${got}`)
  }
  for (const own of new Set(outcomes.map((outcome) => outcome.interface))) {
    const count = (/** @type {string} */ state) =>
      outcomes.filter((outcome) => outcome.interface === own && outcome.state === state).length
    const counts = ['holds', 'differs', 'absent', 'not tried'].map((one) => `${count(one)} ${one}`)
    console.log(`${own.padEnd(10)} ${counts.join(', ')}`)
  }
  return unknown.length + gone.length > 0 ? 1 : 0
}
