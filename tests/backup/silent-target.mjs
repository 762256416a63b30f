/** A target that takes connections and no longer responds, while more is written than may wait for it. */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { freePort } from '../../bench/lib/ports.mjs'
import { row } from '../../bench/lib/table.mjs'
import { backupSettings } from '../support/backup.mjs'
import { compare, report } from './comparison.mjs'
import { Journal } from './journal.mjs'
import { grow, isInTarget, mostWaiting } from './log-growth.mjs'
import { emptyProject, startStore } from './places.mjs'
import { Original } from './project.mjs'
import { tables, Writers } from './writers.mjs'

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
  const original = new Original({
    dataDir: path.join(folder, 'data'),
    project: await emptyProject(folder),
    port: await freePort(),
    env: {
      ...backupSettings(place.target, program, maxLoss),
      ...place.settings,
      BASALT_BACKUP_MAX_WAITING_MB: String(mayWait),
    },
  })
  await mkdir(original.options.dataDir)
  await original.start()
  await original.server.psql(tables)
  await original.firstBackup()
  const journal = new Journal()
  const writers = new Writers(original.server.access, journal)
  await writers.start()
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
  const archived = await original.server.psql('select archived_count from pg_stat_archiver')
  await original.killAll()
  const end = Date.now()
  await writers.stop()
  report(writers, journal, archived)
  await compare({ folder, original, target: place.target, journal, maxLoss, end })
  await place.stop()
}
