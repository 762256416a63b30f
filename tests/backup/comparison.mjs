/** Compares what a target brings back with the journal of what was acknowledged. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'

import { row, table } from '../../bench/lib/table.mjs'
import { passphrase } from '../support/backup.mjs'
import { restore, text } from './project.mjs'

/** How many differences are named. */
const named = 10

/**
 * @param {import('./writers.mjs').Writers} writers
 * @param {import('./journal.mjs').Journal} journal
 * @param {string} archived
 */
export function report(writers, journal, archived) {
  const seconds = writers.duration / 1000
  for (const [kind, count] of Object.entries(writers.counts)) {
    row(`writes of kind ${kind}`, `${count}, ${(count / seconds).toFixed(1)} a second`)
  }
  row('writes that were not acknowledged', String(journal.failed))
  row('files of the log in the target, since the last start', archived)
}

/**
 * Restores what has burnt, to its end and to moments before it.
 * @param {object} burnt
 * @param {string} burnt.folder for the restored projects
 * @param {import('./project.mjs').Original} burnt.original
 * @param {string} burnt.target
 * @param {import('./journal.mjs').Journal} burnt.journal
 * @param {number} burnt.maxLoss the setting basalt.backup.max_loss
 * @param {number} burnt.end when it burnt
 * @param {number[]} [burnt.moments]
 */
export async function compare({ folder, original, target, journal, maxLoss, end, moments = [] }) {
  const passphraseFile = path.join(folder, 'passphrase')
  await writeFile(passphraseFile, passphrase, { mode: 0o600 })
  const last = end - maxLoss * 1000
  const lines = []
  for (const moment of [undefined, ...moments]) {
    const dataDir = path.join(folder, 'restored')
    const restored = await restore(original, dataDir, { passphraseFile, target, moment })
    const { found } = restored
    // The end may be that long ago, or later.
    const { lost, foreign } = journal.compare(found, moment ?? last, moment ?? end)
    const wrong = [...lost, ...foreign]
    if (wrong.length > 0) {
      process.exitCode = 1
      console.log(restored.output)
      for (const difference of wrong.slice(0, named)) console.log(`  ${difference}`)
    }
    if (moment === undefined) {
      row('lost by the fire, at most', `${(journal.loss(found, end) / 1000).toFixed(1)} s`)
    }
    lines.push([
      moment === undefined ? 'the end' : text(moment),
      found.size,
      lost.length,
      foreign.length,
      restored.restoreSeconds.toFixed(1),
      restored.startSeconds.toFixed(1),
    ])
  }
  table(['restored to', 'things', 'lost', 'foreign', 'restore, s', 'start, s'], lines)
}
