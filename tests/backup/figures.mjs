/** What backups cost, and how long they take. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { Client } from 'pg'

import { treeProcessorTime } from '../../bench/lib/processes.mjs'
import { row } from '../../bench/lib/table.mjs'
import { backupSettings, basalt, passphrase } from '../support/backup.mjs'
import { Server } from '../support/server.mjs'
import { emptyProject } from './places.mjs'
import { configuration, postmaster } from './processes.mjs'

/** Milliseconds of inserts, and connections that send them. */
const spell = 60_000
const connections = 8
/** The default of basalt.backup.max_loss. */
const maxLoss = 60
/** The goals: what archiving may cost, as a part of Postgres' other work, and how often a restore takes pgBackRest's time. */
const mostArchiving = 0.05
const longest = 2
/** Rows that make the database large, each about 1 kB. */
const rows = 1_000_000

/**
 * @param {string} folder
 * @param {string | null} program
 */
export async function figures(folder, program) {
  const project = await emptyProject(folder)
  const target = path.join(folder, 'target')
  const env = backupSettings(target, program ?? '', maxLoss)
  const withBackups = await Server.start({ project, env })
  await withBackups.psql('create table public.load (id bigserial primary key, body text not null)')
  const { instance, environment } = withBackups
  const run = (/** @type {string[]} */ ...words) => timed(instance, words, environment)
  // The first backup and its verification are over.
  while (!(await run('backup', 'list')).output.includes(' ok')) continue
  await costOfArchiving(withBackups)

  await withBackups.psql(
    `insert into public.load (body)
     select string_agg(md5(random()::text), '') from generate_series(1, ${rows}) n, generate_series(1, 30) group by n`,
  )
  // Otherwise Postgres does it by itself after the last backup, and a restore reads the log of that, too.
  await withBackups.psql('vacuum freeze analyze public.load')
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
  if (typeof seconds === 'string' || restored.seconds > longest * seconds) process.exitCode = 1
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

/**
 * Says which part of Postgres' processor time is spent on archiving while rows are inserted one by one. That is what the
 * rate of inserts can lose at most, on a machine whose processors have nothing else to do. Rates themselves, measured
 * with and without backups, differ from run to run by more than this.
 */
async function costOfArchiving(/** @type {Server} */ server) {
  // The time of a process that nobody waits for would be lost. Each run of pgBackRest reads its configuration.
  const file = await configuration(server.dataDir)
  await writeFile(
    file,
    (await readFile(file, 'utf8')).replace(/^archive-async=.*$/m, 'archive-async=n'),
  )
  const first = await postmaster(server.dataDir)
  const archiver = Number(
    await server.psql(`select pid from pg_stat_activity where backend_type = 'archiver'`),
  )
  const position = async () =>
    Number(await server.psql(`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn`))
  const written = await position()
  const before = { all: treeProcessorTime(first), archiver: treeProcessorTime(archiver) }
  const rate = await inserts(server)
  const archiving = treeProcessorTime(archiver) - before.archiver
  const rest = treeProcessorTime(first) - before.all - archiving
  row('inserts a second', rate.toFixed(0))
  row(
    'log a second',
    `${(((await position()) - written) / 2 ** 20 / (spell / 1000)).toFixed(1)} MiB`,
  )
  row('processor time of archiving ÷ the rest of Postgres', (archiving / rest).toFixed(3))
  if (archiving / rest > mostArchiving) process.exitCode = 1
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
  return measure(program, [`--config=${file}`, '--stanza=basalt', 'restore'], place)
}

/**
 * @param {string} program
 * @param {string[]} words
 * @param {string} place
 */
async function measure(program, words, place) {
  const begin = performance.now()
  const child = spawn(program, words, { cwd: '/', stdio: ['ignore', 'inherit', 'inherit'] })
  const [status] = await once(child, 'exit')
  if (status !== 0) throw new Error(`pgbackrest restore ended with ${status}`)
  const seconds = (performance.now() - begin) / 1000
  await rm(place, { recursive: true, force: true })
  return seconds
}
