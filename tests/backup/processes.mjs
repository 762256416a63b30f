/** The processes of a server's Postgres: the first one, and the programs that archive and back up. */
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** How long a process is waited for, in milliseconds. */
const limit = 60_000

/** Returns the lines of the file in which Postgres says what it is. */
async function pidFile(/** @type {string} */ dataDir) {
  return (await readFile(path.join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')
}

/** Returns the first process of Postgres. */
export async function postmaster(/** @type {string} */ dataDir) {
  return Number((await pidFile(dataDir))[0])
}

/** Returns the file with the configuration of pgBackRest, which is in the folder of the socket. */
export async function configuration(/** @type {string} */ dataDir) {
  const folder = (await pidFile(dataDir))[4]?.trim() ?? ''
  return path.join(folder, 'backup/pgbackrest.conf')
}

/**
 * Waits for a process of pgBackRest that does `what` for the server on `dataDir`.
 * @param {string} dataDir
 * @param {RegExp} what
 */
export async function backupProcess(dataDir, what) {
  const file = await configuration(dataDir)
  const end = Date.now() + limit
  while (Date.now() < end) {
    // Without waiting in between: some run for a tenth of a second.
    const [first] = backupProcesses(file, what)
    if (first !== undefined) return first
    await pause(10)
  }
  throw new Error(`pgBackRest does not run ${what.source}`)
}

/**
 * Returns the processes of pgBackRest with the configuration `file`.
 * @param {string} file
 * @param {RegExp} [what] what they do
 */
export function backupProcesses(file, what = /./) {
  const found = readdirSync('/proc').filter((entry) => {
    const [program = '', ...words] = commandOf(entry)
    const isOurs = program.includes('pgbackrest') && words.includes(`--config=${file}`)
    return isOurs && words.some((word) => what.test(word))
  })
  return found.map(Number)
}

/** Returns the words with which a process was started; nothing if it has ended. */
function commandOf(/** @type {string} */ pid) {
  try {
    return /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') : []
  } catch {
    return []
  }
}

/** Kills a process, which may have ended. */
export function kill(/** @type {number} */ pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
