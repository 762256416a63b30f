/**
 * The drill of backups: node tests/backup/run.mjs [folder|s3|disks|silent|slow|figures …]
 *
 * Rows, objects and users are written while the server, its Postgres, pgBackRest and the target are killed. Then the
 * machine burns: everything is killed in the midst of writing, and the data folder is removed. The project is restored
 * to its end and to random moments, and compared with the journal of what was acknowledged. Ends with 1 if something is
 * missing, or is there that was written later. DRILL_SECONDS is the time between two kills (8 by default),
 * DRILL_MAX_LOSS the setting basalt.backup.max_loss (20 by default), DRILL_RESTORES the number of random moments (10
 * by default). With DRILL_KEEP, the folder stays.
 *
 * `disks` fills the disks of the target and of the data instead, `silent` has a target that no longer responds, and `slow`
 * one that takes far less than what is written: the server goes on, and the log does not take more room than it may.
 * What was acknowledged is in a restore of the end.
 */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { heading, row } from '../../bench/lib/table.mjs'
import { archives, backupFolder, pgbackrest } from '../support/backup.mjs'
import { stopAll } from '../support/programs.mjs'
import { badTarget, silent, slow } from './bad-target.mjs'
import { beginDrill, burn } from './drill.mjs'
import { compare } from './comparison.mjs'
import { fullDisks } from './full-disks.mjs'
import { figures } from './figures.mjs'
import { kills } from './kills.mjs'
import { folderIn, startStore } from './places.mjs'

const calm = 1000 * (Number(process.env.DRILL_SECONDS) || 8)
const maxLoss = Number(process.env.DRILL_MAX_LOSS) || 20
const restores = Number(process.env.DRILL_RESTORES) || 10
/** How long the log may take in addition, in seconds: Postgres tries again after a minute. */
const patience = 60

const parts = {
  folder: (/** @type {string} */ folder) => drill(folder, folderIn(folder)),
  s3: async (/** @type {string} */ folder) => drill(folder, await startStore()),
  disks: (/** @type {string} */ folder) => fullDisks(folder, program ?? ''),
  silent: (/** @type {string} */ folder) => badTarget(folder, program ?? '', silent),
  slow: (/** @type {string} */ folder) => badTarget(folder, program ?? '', slow),
  figures: (/** @type {string} */ folder) => figures(folder, program),
}

// What was started is told to end.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

const chosen = process.argv.slice(2)
if (chosen.some((name) => !(name in parts))) {
  console.error(`usage: run.mjs [${Object.keys(parts).join('|')} …]`)
  process.exit(2)
}
const program = pgbackrest()
if (program === null) {
  console.error('pgBackRest is not there: scripts/pgbackrest says why')
  process.exit(1)
}

for (const [name, part] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const folder = await backupFolder()
  try {
    heading(name)
    await part(folder)
  } catch (error) {
    process.exitCode = 1
    console.error(error)
  } finally {
    await stopAll()
    if (process.env.DRILL_KEEP) console.log(`kept: ${folder}`)
    else await rm(folder, { recursive: true, force: true })
  }
}
// After an error, writers may still be at work.
process.exit()

/**
 * @param {string} folder
 * @param {import('./places.mjs').Place} place
 */
async function drill(folder, place) {
  const dataDir = path.join(folder, 'data')
  const begun = await beginDrill({ folder, dataDir, place, program: program ?? '', maxLoss })
  const { original, journal, writers, begin } = begun
  await pause(calm)
  for (const [what, killed] of Object.entries(kills)) {
    const from = Date.now()
    const since = () => (Date.now() - from) / 1000
    await killed(original, place)
    await writers.recover()
    const written = since()
    const isSafe = await archives(original.server, 1.5 * maxLoss + patience)
    if (!isSafe) process.exitCode = 1
    const archived = isSafe ? `${since().toFixed(1)} s` : `not after ${since().toFixed(1)} s`
    row(`killed: ${what}; written, in the target`, `${written.toFixed(1)} s, ${archived}`)
    await pause(calm)
  }
  // A second backup, so that restores begin with different ones.
  await original.run('backup', 'create')
  await pause(2 * calm)

  const end = await burn(begun)
  // Processes of Postgres may take a moment to notice.
  await rm(dataDir, { recursive: true, force: true, maxRetries: 20 })
  await compare({
    folder,
    original,
    target: place.target,
    journal,
    maxLoss,
    end,
    moments: momentsBetween(begin, end, restores),
  })
  await place.stop()
}

/**
 * Returns random moments, the earliest first, at which all is in the target.
 * @param {number} begin
 * @param {number} end
 * @param {number} count
 */
function momentsBetween(begin, end, count) {
  const last = end - maxLoss * 1000
  const random = Array.from({ length: count }, () => begin + Math.random() * (last - begin))
  return random.map(Math.floor).sort((a, b) => a - b)
}
