/** The stock Supabase CLI, which manages a server as it does a hosted project: with a profile and an access token. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const program = path.resolve(import.meta.dirname, '../../node_modules/.bin/supabase')

/** How long a command of the CLI may take, in milliseconds. */
const limit = 30_000

/** The name of the profile's file. */
const PROFILE = 'basalt.profile.yaml'

/**
 * Runs the CLI in `folder`, which has to succeed, and returns what it prints.
 * @param {{ folder: string, token: string, env?: Record<string, string> }} login
 * @param {string[]} words
 */
export async function supabase({ folder, token, env }, ...words) {
  const running = run(program, words, {
    cwd: folder,
    timeout: limit,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      NO_COLOR: '1',
      CI: '1',
      DO_NOT_TRACK: '1',
      SUPABASE_TELEMETRY_DISABLED: '1',
      SUPABASE_PROFILE: path.join(folder, PROFILE),
      SUPABASE_ACCESS_TOKEN: token,
      ...env,
    },
  })
  running.child.stdin?.end()
  const { stdout, stderr } = await running
  return stdout + stderr
}

/**
 * Runs one of Basalt's commands on a project, and returns what it prints.
 * @param {import('./server.mjs').Server} server
 * @param {string[]} words
 */
export async function basaltOutput({ binary, dataDir, project, environment }, ...words) {
  const flags = ['--project', project, '--data-dir', dataDir]
  const { stdout } = await run(binary, [...words, ...flags], { env: environment })
  return stdout.trim()
}

/**
 * Links `folder` with the project of `server`; returns its reference and a token that may do everything.
 * @param {import('./server.mjs').Server} server
 * @param {string} folder
 * @param {Record<string, string>} [env] of the CLI
 */
export async function link(server, folder, env = {}) {
  await writeFile(path.join(folder, PROFILE), await basaltOutput(server, 'status', '--profile'))
  const token = await basaltOutput(server, 'token', 'create')
  const headers = { Authorization: `Bearer ${token}` }
  const response = await fetch(`${server.access.url}/v1/projects`, { headers })
  /** @type {{ ref: string }[]} */
  const [{ ref } = { ref: '' }] = await response.json()
  await supabase({ folder, token, env }, 'link', '--project-ref', ref)
  return { ref, token }
}
