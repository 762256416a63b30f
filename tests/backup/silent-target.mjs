/** A target that takes connections and no longer responds, while more is written than may wait for it. */
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { row } from '../../bench/lib/table.mjs'
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
 * @param {string} folder
 * @param {string} program the path of pgBackRest
 */
export async function silentTarget(folder, program) {
  const maxLoss = 20
  const place = await startStore()
  const drill = await beginDrill({
    folder,
    dataDir: path.join(folder, 'data'),
    place,
    program,
    maxLoss,
    env: { BASALT_BACKUP_MAX_WAITING_MB: String(mayWait) },
  })
  const { original, journal, writers } = drill
  await writers.recover()

  place.silence()
  const waiting = mostWaiting(original.server)
  await grow(original.server, 4 * mayWait)
  await writers.recover()
  const most = await waiting.end()
  if (most > mayWait + more) process.exitCode = 1
  row('most of the log that waited', `${most} MiB, of ${mayWait}`)
  row('writes that failed meanwhile', String(journal.failed))
  if (journal.failed > 0) process.exitCode = 1
  const begin = Date.now()
  await place.leave()
  await place.back()
  const isSafe = await isInTarget(original.server)
  if (!isSafe) process.exitCode = 1
  const seconds = ((Date.now() - begin) / 1000).toFixed(0)
  row('in the target again', isSafe ? `after ${seconds} s` : `not after ${seconds} s`)

  await pause(calm)
  const end = await burn(drill)
  await compare({ folder, original, target: place.target, journal, maxLoss, end })
  await place.stop()
}
