/** The beginning and the end of a drill: a project that is written to, and the moment at which its machine burns. */
import { mkdir } from 'node:fs/promises'

import { freePort } from '../../bench/lib/ports.mjs'
import { backupSettings } from '../support/backup.mjs'
import { report } from './comparison.mjs'
import { Journal } from './journal.mjs'
import { emptyProject } from './places.mjs'
import { Original } from './project.mjs'
import { tables, Writers } from './writers.mjs'

/**
 * A project that is written to.
 * @typedef {object} Drill
 * @property {Original} original
 * @property {Journal} journal
 * @property {Writers} writers
 * @property {number} begin when the first backup ended
 */

/**
 * Starts a server in `dataDir` that makes backups in `place`, and writers once it has one.
 * @param {object} options
 * @param {string} options.folder for the project
 * @param {string} options.dataDir
 * @param {import('./places.mjs').Place} options.place
 * @param {string} options.program the path of pgBackRest
 * @param {number} options.maxLoss the setting basalt.backup.max_loss
 * @param {Record<string, string>} [options.env] further settings
 * @returns {Promise<Drill>}
 */
export async function beginDrill({ folder, dataDir, place, program, maxLoss, env = {} }) {
  const original = new Original({
    dataDir,
    project: await emptyProject(folder),
    port: await freePort(),
    env: { ...backupSettings(place.target, program, maxLoss), ...place.settings, ...env },
  })
  await mkdir(dataDir)
  await original.start()
  await original.server.psql(tables)
  const begin = await original.firstBackup()
  const journal = new Journal()
  const writers = new Writers(original.server.access, journal)
  await writers.start()
  return { original, journal, writers, begin }
}

/**
 * Kills everything while it is written to, and reports what was written; returns when that was.
 * @param {Drill} drill
 */
export async function burn({ original, journal, writers }) {
  const archived = await original.server.psql('select archived_count from pg_stat_archiver')
  await original.killAll()
  const end = Date.now()
  await writers.stop()
  report(writers, journal, archived)
  return end
}
