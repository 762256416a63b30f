#!/usr/bin/env node
/**
 * Upstream's own services in the place of Basalt's program, for tests that start a Basalt (tests/support/server.mjs):
 *
 *   BASALT_BINARY=tests/upstream/as-basalt.mjs npx playwright test --config tests/e2e/playwright.config.ts home
 *
 * `serve` starts the services with the site's schema, files and pages; `keys` and `psql` tell and do what Basalt's
 * commands of these names do.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { pagesOf } from './pages.mjs'
import { Stack } from './stack.mjs'

const text = /** @type {const} */ ({ type: 'string' })
const { positionals, values } = parseArgs({
  allowPositionals: true,
  strict: false,
  options: { project: text, 'data-dir': text, port: text, only: text },
})
const [command, ...rest] = positionals
const project = path.resolve(String(values.project))
const dataDir = path.resolve(String(values['data-dir']))

/** Where a running stack notes how it is reached. */
const note = path.join(dataDir, 'upstream.json')

if (command === 'serve') await serve()
else if (command === 'keys') await keys()
else if (command === 'psql') await psql()
else {
  console.error(`upstream has no command ${command} ${rest.join(' ')}`)
  process.exitCode = 2
}

async function serve() {
  /** @type {Record<string, string>} */
  const settings = {}
  for (const [name, value = ''] of Object.entries(process.env)) {
    if (name.startsWith('GOTRUE_')) settings[name] = value
  }
  const stack = await Stack.start({ settings })
  try {
    await furnish(stack)
    await writeFile(note, JSON.stringify(stack.access))
    console.log(`  API    ${stack.url}\n  Mails  ${stack.mailUrl}\nCtrl-C stops everything`)
    await new Promise((resolve) => {
      process.once('SIGINT', resolve)
      process.once('SIGTERM', resolve)
    })
  } finally {
    await stack.stop()
  }
}

/**
 * Installs the site: its schema and rows, its files, and a build of its pages that asks this very stack.
 * @param {Stack} stack
 */
async function furnish(stack) {
  for (const folder of ['migrations', 'seed']) {
    const here = path.join(project, 'schema/site', folder)
    for (const name of (await readdir(here)).filter((one) => one.endsWith('.sql')).sort()) {
      await stack.sql(await readFile(path.join(here, name), 'utf8'))
    }
  }
  const { API_URL: url = '', ANON_KEY: key = '' } = stack.access
  for (const bucket of ['app', 'experts', 'blog-images', 'other']) {
    await upload(stack, bucket, path.join(project, 'storage', bucket))
  }
  const pages = path.join(dataDir, 'pages')
  execFileSync(
    'npx',
    ['vite', 'build', '--logLevel', 'error', '--outDir', pages, '--emptyOutDir'],
    {
      cwd: path.join(project, 'client'),
      env: { ...process.env, VITE_SUPABASE_URL: url, VITE_SUPABASE_ANON_KEY: key },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  // The settings of a project without channels and without resized pictures.
  const index = path.join(pages, 'index.html')
  const page = await readFile(index, 'utf8')
  const changed = page.replace(
    /("key":\s*"%BASALT_ANON_KEY%")/,
    '$1, "channels": false, "images": false',
  )
  if (changed === page) throw new Error(`${index} has no place for settings`)
  await writeFile(index, changed)
  stack.serve(pagesOf(pages))
}

/**
 * Makes a public bucket with the files of a folder.
 * @param {Stack} stack
 * @param {string} bucket
 * @param {string} folder
 */
async function upload(stack, bucket, folder) {
  const { API_URL: url, SERVICE_ROLE_KEY: key = '' } = stack.access
  const headers = { apikey: key, authorization: `Bearer ${key}` }
  const post = async (
    /** @type {string} */ at,
    /** @type {RequestInit} */ { headers: own, body },
  ) => {
    const init = { method: 'POST', headers: { ...headers, ...own }, body }
    const response = await fetch(`${url}/storage/v1/${at}`, init)
    if (!response.ok) throw new Error(`${at}: ${response.status} ${await response.text()}`)
  }
  await post('bucket', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: bucket, name: bucket, public: true }),
  })
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    const name = path.relative(folder, file).split(path.sep).map(encodeURIComponent).join('/')
    await post(`object/${bucket}/${name}`, {
      headers: { 'content-type': typeOf(file) },
      body: await readFile(file),
    })
  }
}

/** @param {string} file */
function typeOf(file) {
  const type =
    { '.jpg': 'jpeg', '.svg': 'svg+xml' }[path.extname(file)] ?? path.extname(file).slice(1)
  return ['mp4', 'webm'].includes(type) ? `video/${type}` : `image/${type}`
}

async function keys() {
  const { ANON_KEY, SERVICE_ROLE_KEY } = JSON.parse(await readFile(note, 'utf8'))
  console.log(`ANON_KEY=${ANON_KEY}\nSERVICE_ROLE_KEY=${SERVICE_ROLE_KEY}`)
}

async function psql() {
  const { ADMIN_DB_URL } = JSON.parse(await readFile(note, 'utf8'))
  const flags = process.argv.slice(process.argv.indexOf('--') + 1)
  const { status } = spawnSync('psql', ['-X', '-d', ADMIN_DB_URL, ...flags], { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
