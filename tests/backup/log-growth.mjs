/** Writes much log, and looks at how much of it waits for the target. */
import { setTimeout as pause } from 'node:timers/promises'

import { metric } from '../support/backup.mjs'

const MIB = 2 ** 20

/** How much one statement writes, in MiB: small enough that the log can be shortened in between. */
const step = 8

/** How long it may take until everything is in the target again, in milliseconds. */
const limit = 180_000

/**
 * Writes that much log, but keeps no table.
 * @param {import('../support/server.mjs').Server} server
 * @param {number} size in MiB
 */
export async function grow(server, size) {
  for (let written = 0; written < size; written += step) {
    // Nothing is compressed or moved out of line.
    await server.psql(
      `create table public.growth as
         select (select string_agg(gen_random_uuid()::text, '') from generate_series(1, 50) where n > 0) as body
         from generate_series(1, ${(step * MIB) / 2000}) n;
       drop table public.growth`,
    )
    await pause(200)
  }
}

/**
 * Looks at how much of the log waits, until the end is asked for, which returns the most in MiB.
 * @param {import('../support/server.mjs').Server} server
 */
export function mostWaiting(server) {
  let most = 0
  let isOver = false
  const look = async () => {
    while (!isOver) {
      most = Math.max(most, await metric(server, 'log_waiting_bytes').catch(() => 0))
      await pause(250)
    }
  }
  const looking = look()
  return {
    end: async () => {
      isOver = true
      await looking
      return Math.round(most / MIB)
    },
  }
}

/**
 * Waits until everything is in the target again; returns whether that happened.
 * @param {import('../support/server.mjs').Server} server
 */
export async function isInTarget(server) {
  const end = Date.now() + limit
  while (Date.now() < end) {
    if ((await metric(server, 'late').catch(() => 1)) === 0) return true
    await pause(500)
  }
  return false
}
