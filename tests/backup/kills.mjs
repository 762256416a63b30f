import { setTimeout as pause } from 'node:timers/promises'

import { psqlAsSuperuser } from '../support/server.mjs'
import { backupProcess, kill, postmaster } from './processes.mjs'

/** How long the target is away, in milliseconds. */
const away = 10_000

/** @typedef {import('./project.mjs').Original} Original */
/** @typedef {import('./places.mjs').Place} Place */

/**
 * What is killed while the project is written to, and how it comes back.
 * @type {Record<string, (original: Original, place: Place) => Promise<void>>}
 */
export const kills = {
  Basalt: async (original) => {
    await original.kill()
    await original.start()
  },
  // Basalt starts it again.
  Postgres: async ({ options }) => kill(await postmaster(options.dataDir)),
  // Postgres tries again.
  pgBackRest: async ({ options, server }) => {
    const found = backupProcess(options.dataDir, /^archive-push/)
    await psqlAsSuperuser(server.instance, 'select pg_switch_wal()')
    kill(await found)
  },
  'the target, for 10 s': async (_, place) => {
    await place.leave()
    await pause(away)
    await place.back()
  },
  'Basalt during a backup': async (original) => {
    const backup = original.run('backup', 'create', '--full').catch(() => 'failed')
    await backupProcess(original.options.dataDir, /^backup$/)
    await original.kill()
    await backup
    await original.start()
  },
}
