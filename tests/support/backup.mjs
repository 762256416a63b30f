import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { temporaryFolder } from './postgres.mjs'

const script = path.resolve(import.meta.dirname, '../../scripts/pgbackrest')

/** The passphrase of all backups of these tests. */
export const passphrase = 'a passphrase of tests'

/** What a command has printed, and its exit status. @typedef {{ status: number | null, output: string }} Outcome */

/**
 * Returns the path of pgBackRest; null where it cannot be installed.
 *
 * Errors: in CI, where it must be there.
 */
export function pgbackrest() {
  try {
    return execFileSync(script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  } catch (error) {
    if (process.env.CI === 'true') throw error
    return null
  }
}

/**
 * Returns the settings of a server that makes backups in `target`.
 * @param {string} target
 * @param {string} program the path of pgBackRest
 * @param {number} maxLoss in seconds
 * @returns {Record<string, string>}
 */
export const backupSettings = (target, program, maxLoss) => ({
  BASALT_BACKUP_TARGET: target,
  BASALT_BACKUP_PASSPHRASE: passphrase,
  BASALT_BACKUP_MAX_LOSS: String(maxLoss),
  BASALT_BACKUP_SCHEDULE: 'off',
  BASALT_PGBACKREST: program,
  BASALT_ADMIN_PORT: '0',
  BASALT_LOG: 'info',
})

/** The certificate of `localhost`, and that of its authority. */
const certificates = path.resolve(import.meta.dirname, 'tls')

/**
 * Returns how a server reaches an S3 store at a port of this machine, with the certificate of `localhost`.
 * @param {number} port
 * @returns {Record<string, string>}
 */
export const storeSettings = (port) => ({
  BASALT_BACKUP_S3_ENDPOINT: `https://localhost:${port}`,
  BASALT_BACKUP_S3_FORCE_PATH_STYLE: 'true',
  BASALT_BACKUP_S3_ACCESS_KEY_ID: 'drill',
  BASALT_BACKUP_S3_SECRET_ACCESS_KEY: 'secret of tests',
  SSL_CERT_FILE: path.join(certificates, 'authority.pem'),
})

/** Returns a certificate for `localhost` and its key. */
export async function certificate() {
  const [cert, key] = await Promise.all(
    ['certificate.pem', 'key.pem'].map((name) => readFile(path.join(certificates, name))),
  )
  return { cert, key }
}

/** Makes a folder for targets and restored projects, which the user of Postgres may enter. */
export const backupFolder = () => temporaryFolder('basalt-backups-')

/**
 * Runs a command of Basalt on a project to its end.
 * @param {import('./server.mjs').Instance} instance
 * @param {string[]} words
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Outcome>}
 */
export async function basalt({ binary, dataDir, project }, words, env = process.env) {
  const flags = ['--project', project, '--data-dir', dataDir]
  const child = spawn(binary, [...flags, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => (output += chunk))
  }
  const [status] = await once(child, 'close')
  return { status, output }
}

/**
 * Returns the value of a metric of backups; NaN if there is none.
 * @param {import('./server.mjs').Server} server
 * @param {string} name
 */
export async function metric(server, name) {
  const response = await fetch(`${server.adminUrl}/metrics`)
  const line = new RegExp(`^basalt_backup_${name} (\\S+)$`, 'm').exec(await response.text())
  return Number(line?.[1] ?? NaN)
}

/**
 * Waits until what has been committed is in the target; returns whether that took less than `seconds`.
 * @param {import('./server.mjs').Server} server
 * @param {number} [seconds]
 */
export async function archives(server, seconds = 45) {
  const end = performance.now() + seconds * 1000
  const file = await server.psql('select pg_walfile_name(pg_current_wal_insert_lsn())')
  const sql = `select coalesce(last_archived_wal >= '${file}', false) from pg_stat_archiver`
  while (performance.now() < end) {
    if ((await server.psql(sql)) === 't') return true
    await pause(250)
  }
  return false
}
