/** A target that no longer responds, or is slow, while more is written than may wait for it. */
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { row } from '../../bench/lib/table.mjs'
import { metric } from '../support/backup.mjs'
import { beginDrill, burn } from './drill.mjs'
import { compare } from './comparison.mjs'
import { grow, isInTarget, mostWaiting } from './log-growth.mjs'
import { startStore } from './places.mjs'

/** How much of the log may wait, in MiB, and how much more than that does until it is dropped. */
const mayWait = 128
const more = 192

/** How long is written after that, in milliseconds. */
const calm = 10_000

/**
 * What is wrong with the target.
 * @typedef {object} Flaw
 * @property {(store: import('./places.mjs').Store) => void} begin
 * @property {(store: import('./places.mjs').Store) => Promise<void>} end
 */

/**
 * The target takes connections and no longer responds.
 * @type {Flaw}
 */
export const silent = {
  begin: (store) => store.silence(),
  end: async (store) => {
    await store.leave()
    await store.back()
  },
}

/**
 * The target takes far less than what is written.
 * @type {Flaw}
 */
export const slow = {
  begin: (store) => store.setSlow(true),
  end: async (store) => store.setSlow(false),
}

/**
 * @param {string} folder
 * @param {string} program the path of pgBackRest
 * @param {Flaw} flaw
 */
export async function badTarget(folder, program, flaw) {
  const maxLoss = 20
  const store = await startStore()
  const drill = await beginDrill({
    folder,
    dataDir: path.join(folder, 'data'),
    place: store,
    program,
    maxLoss,
    env: { BASALT_BACKUP_MAX_WAITING_MB: String(mayWait) },
  })
  const { original, journal, writers } = drill
  await writers.recover()

  flaw.begin(store)
  const waiting = mostWaiting(original.server)
  await grow(original.server, 4 * mayWait)
  await writers.recover()
  const most = await waiting.end()
  if (most > mayWait + more) process.exitCode = 1
  row('most of the log that waited', `${most} MiB, of ${mayWait}`)
  const isSaid = (await metric(original.server, 'late')) === 1
  if (!isSaid) process.exitCode = 1
  row('the server says that backups are late', isSaid ? 'yes' : 'no')
  row('writes that failed meanwhile', String(journal.failed))
  if (journal.failed > 0) process.exitCode = 1
  const begin = Date.now()
  await flaw.end(store)
  const isSafe = await isInTarget(original.server)
  if (!isSafe) process.exitCode = 1
  const seconds = ((Date.now() - begin) / 1000).toFixed(0)
  row('in the target again', isSafe ? `after ${seconds} s` : `not after ${seconds} s`)

  await pause(calm)
  const end = await burn(drill)
  await compare({ folder, original, target: store.target, journal, maxLoss, end })
  await store.stop()
}
