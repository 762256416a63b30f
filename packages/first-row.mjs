// From an empty folder to the first row over supabase-js, with the packages of `make packages`:
// node packages/first-row.mjs FOLDER [--cold]. Fails where a step does, and prints how long each took. With --cold, npm's
// cache is empty, so that the figures hold all downloads.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** Milliseconds that one step may take. */
const PATIENCE = 300_000

/** What supabase-js needs beside itself: before version 22, Node.js has no WebSocket. */
const NEEDED = typeof WebSocket === 'undefined' ? ['ws'] : []

/** A user's own script. */
const SCRIPT = `
  import { createClient } from '@supabase/supabase-js'

  const transport = globalThis.WebSocket ?? (await import('ws')).default
  const client = createClient(process.env.API_URL, process.env.ANON_KEY, { realtime: { transport } })
  const { data, error } = await client.from('notes').insert({ body: 'first row' }).select('body').single()
  if (error) throw error
  console.log(data.body)
  process.exit()
`

const [folder, ...flags] = process.argv.slice(2)
if (!folder) throw new Error('expected the folder of the packages')
const packages = readdirSync(folder).filter((name) => /^basalt-cli-.*\.tgz$/.test(name))

const place = mkdtempSync(join(tmpdir(), 'first-row-'))
const project = join(place, 'shop')
const environment = {
  ...process.env,
  // Free ports, and words in place of JSON.
  BASALT_PORT: '0',
  BASALT_DATABASE_PORT: '0',
  BASALT_ADMIN_PORT: '0',
  BASALT_INBOX_PORT: '0',
  BASALT_LOG_FORMAT: 'text',
  ...(flags.includes('--cold') && { npm_config_cache: join(place, 'npm') }),
}
for (const name of ['DATABASE_URL', 'POSTGRES_BIN', 'DENO', 'BASALT_PROJECT'])
  delete environment[name]

const began = performance.now()
let last = began

/** Prints how long the last step took, and how long all of them. */
function done(step) {
  const now = performance.now()
  const seconds = (from) => `${((now - from) / 1000).toFixed(1)} s`.padStart(9)
  console.log(`${seconds(last)}${seconds(began)}  ${step}`)
  last = now
}

function run(command, ...args) {
  const options = { cwd: project, env: environment, encoding: 'utf8', timeout: PATIENCE }
  return execFileSync(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
}

function expect(what, found, expected) {
  if (!found.includes(expected)) throw new Error(`${what}: expected ${expected}, found ${found}`)
}

/** Fetches `path` of the server, and returns the body of a response that is not an error. */
async function load(url, path, body) {
  const options = { method: body ? 'POST' : 'GET', body, signal: AbortSignal.timeout(PATIENCE) }
  const response = await fetch(`${url}${path}`, options)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.text()
}

/** A running server, which is started by `command` and stopped as one stops it. */
class Server {
  #child
  #ended

  constructor(...command) {
    // In a process group of its own, as a shell starts it, so that a signal can be sent to all of it as a terminal does.
    const options = {
      cwd: project,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    }
    this.#child = spawn(command[0], command.slice(1), options)
    this.#ended = new Promise((resolve) => {
      this.#child.on('close', (code, signal) => resolve(signal ?? code))
    })
  }

  /** Resolves with what the server prints until it is ready. */
  ready() {
    return new Promise((resolve, reject) => {
      let said = ''
      this.#child.stdout.on('data', (data) => {
        said += data
        if (said.includes('Ctrl-C')) resolve(said)
      })
      this.#ended.then((how) => reject(new Error(`the server ended (${how}): ${said}`)))
      setTimeout(() => reject(new Error(`the server is not ready: ${said}`)), PATIENCE).unref()
    })
  }

  /** Sends a signal to the started process, or to its whole group, and expects that everything ends in order. */
  async stop(signal, target) {
    process.kill(target === 'group' ? -this.#child.pid : this.#child.pid, signal)
    const late = setTimeout(() => this.kill(), PATIENCE).unref()
    const how = await this.#ended
    clearTimeout(late)
    if (existsSync(join(project, '.basalt/postgres/postmaster.pid'))) {
      throw new Error(`Postgres was not stopped by ${signal} (${how})`)
    }
    return how
  }

  kill() {
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

let server
try {
  mkdirSync(project)
  console.log('     step   so far')
  run('npm', 'init', '-y')
  run(
    'npm',
    'install',
    ...packages.map((name) => resolve(folder, name)),
    '@supabase/supabase-js',
    ...NEEDED,
  )
  done('npm init, npm install')
  expect('npx basalt --version', run('npx', 'basalt', '--version'), 'basalt ')
  expect('npx basalt init', run('npx', 'basalt', 'init'), '  npx @basalt/cli serve')
  done('npx basalt --version, npx basalt init')

  server = new Server('npx', 'basalt', 'serve')
  const said = await server.ready()
  const value = (label) => new RegExp(`^  ${label} +(\\S+)$`, 'm').exec(said)[1]
  const url = value('API')
  done('npx basalt serve')
  writeFileSync(join(project, 'first.mjs'), SCRIPT)
  Object.assign(environment, { API_URL: url, ANON_KEY: value('Anon key') })
  expect('the row', run('node', 'first.mjs'), 'first row')
  done('the first row over supabase-js')

  expect('the function', await load(url, '/functions/v1/hello', '{"name":"Ada"}'), 'Hello Ada!')
  expect('the page', await load(url, '/'), value('Publishable key'))
  expect('supabase-js', await load(url, '/supabase.js'), 'createClient')
  done('a function’s response, and the page with its supabase-js')
  await server.stop('SIGINT', 'group')
  done('Ctrl-C')

  server = new Server('node_modules/.bin/basalt', 'serve')
  await server.ready()
  const how = await server.stop('SIGTERM', 'process')
  if (how !== 0) throw new Error(`SIGTERM: the launcher ended with ${how}`)
  done('a second start, and SIGTERM to the launcher')
} finally {
  server?.kill()
  rmSync(place, { recursive: true, maxRetries: 3 })
}
