/** Row changes while the primary is killed and its standby takes its place. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import { Replication } from '../../support/replication.mjs'
import { Server } from '../../support/server.mjs'
import { unique, Wires } from './stage.ts'
import { watch, type Change } from './watch.ts'

const wires = new Wires()
afterEach(() => wires.close())

describe.skipIf(inject('own') === null)('a failover', () => {
  let postgres: Replication
  let realtime: Server
  let dataDir: string

  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'basalt-failover-'))
    postgres = await Replication.start({ settings: { fsync: 'off' } })
    realtime = await Server.start({
      only: ['realtime'],
      dataDir,
      env: {
        DATABASE_URL: postgres.url,
        BASALT_ADOPT_DATABASE: '1',
        TENANT_MAX_EVENTS_PER_SECOND: '1000000',
      },
    })
    await postgres.primary.sql(
      `create table flow (id int primary key); grant select on flow to anon;
       alter publication supabase_realtime add table flow`,
    )
  })

  afterAll(async () => {
    await realtime.stop()
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  test('loses no row change', { timeout: 120_000 }, async () => {
    const { url, anonKey } = realtime.access
    const wire = await wires.add({ url, key: anonKey })
    const room = unique('flow')
    await watch(wire, room, [{ event: 'INSERT', schema: 'public', table: 'flow' }])
    // Rows, one transaction each, on whichever server takes them; those that were acknowledged count.
    const written: number[] = []
    const end = new AbortController()
    const writing = (async () => {
      for (let id = 1; !end.signal.aborted; id += 1) {
        for (;;) {
          try {
            await postgres.primary.sql(
              `insert into flow values (${String(id)}) on conflict do nothing`,
            )
            break
          } catch {
            await pause(50)
          }
        }
        written.push(id)
      }
    })()
    // The standby follows the slot, the sooner the more happens on it.
    const synced =
      "select from pg_replication_slots where slot_name = 'basalt_realtime' and synced and not temporary"
    await expect.poll(() => postgres.standby.sql(synced), { timeout: 60_000 }).toHaveLength(1)
    await expect.poll(() => written.length).toBeGreaterThan(100)
    await postgres.primary.stop('SIGKILL')
    await postgres.promote()
    const before = written.length
    await expect.poll(() => written.length).toBeGreaterThan(before + 100)
    end.abort()
    await writing

    const rowChanges = () => wire.received.filter(({ event }) => event === 'postgres_changes')
    const ids = () =>
      new Set(rowChanges().map(({ payload }) => (payload as Change).data.record?.id))
    await expect.poll(() => ids().size, { timeout: 40_000 }).toBe(written.length)
    expect([...ids()]).toEqual(written)
  })
})
