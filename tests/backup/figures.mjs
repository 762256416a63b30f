/** What backups cost, and how long they take. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { Client } from 'pg'

import { row } from '../../bench/lib/table.mjs'
import { backupSettings, basalt, passphrase } from '../support/backup.mjs'
import { Server } from '../support/server.mjs'
import { emptyProject } from './places.mjs'
import { configuration } from './processes.mjs'

/** Milliseconds of inserts in each round, rounds, and connections. */
const spell = 20_000
const rounds = 2
const connections = 8
/** The default of basalt.backup.max_loss. */
const maxLoss = 60
/** Rows that make the database large, each about 1 kB. */
const rows = 400_000

/**
 * @param {string} folder
 * @param {string | null} program
 */
export async function figures(folder, program) {
  const project = await emptyProject(folder)
  const target = path.join(folder, 'target')
  const env = backupSettings(target, program ?? '', maxLoss)
  const withBackups = await Server.start({ project, env })
  const without = await Server.start({ project })
  for (const server of [withBackups, without]) {
    await server.psql('create table public.load (id bigserial primary key, body text not null)')
  }
  const { instance, environment } = withBackups
  const run = (/** @type {string[]} */ ...words) => timed(instance, words, environment)
  // The first backup and its verification are over.
  while (!(await run('backup', 'list')).output.includes(' ok')) continue

  /** @type {number[]} */
  const ratios = []
  for (let round = 0; round < rounds; round += 1) {
    const off = await inserts(without)
    const on = await inserts(withBackups)
    ratios.push(on / off)
    row('inserts a second without and with backups', `${off.toFixed(0)}, ${on.toFixed(0)}`)
  }
  row('ratio', ratios.map((ratio) => ratio.toFixed(3)).join(', '))
  await without.stop()

  await withBackups.psql(
    `insert into public.load (body)
     select string_agg(md5(random()::text), '') from generate_series(1, ${rows}) n, generate_series(1, 30) group by n`,
  )
  const size = Number(
    await withBackups.psql('select sum(pg_database_size(datname)) from pg_database'),
  )
  row('size of the database', `${(size / 2 ** 20).toFixed(0)} MiB`)
  row('full backup', `${(await run('backup', 'create', '--full')).seconds.toFixed(1)} s`)
  row('difference after it', `${(await run('backup', 'create')).seconds.toFixed(1)} s`)
  row('verification', `${(await run('backup', 'verify')).seconds.toFixed(1)} s`)
  const seconds = await alone(folder, withBackups, program ?? '').catch(String)
  row('pgbackrest restore alone', typeof seconds === 'string' ? seconds : `${seconds.toFixed(1)} s`)

  const file = path.join(folder, 'passphrase')
  await writeFile(file, passphrase)
  const dataDir = path.join(folder, 'restored')
  const words = ['restore', '--target', target, '--passphrase-file', file]
  const restored = await timed({ ...instance, dataDir }, words, environment)
  row('basalt restore', `${restored.seconds.toFixed(1)} s`)
  await withBackups.stop()
}

/**
 * Runs a command, which must succeed.
 * @param {import('../support/server.mjs').Instance} instance
 * @param {string[]} words
 * @param {NodeJS.ProcessEnv} env
 */
async function timed(instance, words, env) {
  const begin = performance.now()
  const { status, output } = await basalt(instance, words, env)
  if (status !== 0) throw new Error(`${words.join(' ')} failed:\n${output}`)
  return { seconds: (performance.now() - begin) / 1000, output }
}

/** Inserts single rows for a while; returns how many a second. */
async function inserts(/** @type {Server} */ server) {
  const { DB_URL: connectionString = '' } = await server.status()
  const end = performance.now() + spell
  const body = 'x'.repeat(200)
  let count = 0
  const insert = async () => {
    const client = new Client({ connectionString })
    await client.connect()
    while (performance.now() < end) {
      await client.query('insert into public.load (body) values ($1)', [body])
      count += 1
    }
    await client.end()
  }
  await Promise.all(Array.from({ length: connections }, insert))
  return (count * 1000) / spell
}

/**
 * Brings the files of the database back with pgBackRest alone; returns the seconds.
 * @param {string} folder
 * @param {Server} server
 * @param {string} program
 */
async function alone(folder, server, program) {
  const repository = path.join(folder, 'target/database')
  const { uid, gid } = await stat(repository)
  const place = path.join(folder, 'alone')
  await mkdir(place)
  const text = await readFile(await configuration(server.dataDir), 'utf8')
  const file = path.join(place, 'pgbackrest.conf')
  const data = path.join(place, 'data')
  /** @type {Record<string, string>} */
  const paths = {
    'repo1-path': repository,
    'pg1-path': data,
    'lock-path': place,
    'spool-path': place,
  }
  const lines = text.split('\n').map((line) => {
    const [name = ''] = line.split('=')
    const changed = paths[name]
    return changed === undefined ? line : `${name}=${changed}`
  })
  await writeFile(file, lines.join('\n'))
  await mkdir(data, { mode: 0o700 })
  return measure(program, [`--config=${file}`, '--stanza=basalt', 'restore'], place, { uid, gid })
}

/**
 * @param {string} program
 * @param {string[]} words
 * @param {string} place
 * @param {{ uid: number, gid: number }} account
 */
async function measure(program, words, place, { uid, gid }) {
  const chown = spawn('chown', ['-R', `${uid}:${gid}`, place])
  await once(chown, 'exit')
  const begin = performance.now()
  const isRoot = process.getuid?.() === 0
  const child = spawn(program, words, {
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit'],
    ...(isRoot && { uid, gid }),
  })
  const [status] = await once(child, 'exit')
  if (status !== 0) throw new Error(`pgbackrest restore ended with ${status}`)
  await rm(place, { recursive: true, force: true })
  return (performance.now() - begin) / 1000
}
