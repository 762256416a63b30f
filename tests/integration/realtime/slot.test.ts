/** The replication slot: how much it may keep, and where it is read. */
import { randomBytes } from 'node:crypto'

import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import { Proxy } from '../../support/proxy.ts'
import { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { unique, Wires } from './stage.ts'
import { change, subscribed, watch } from './watch.ts'

const wires = new Wires()
afterEach(() => wires.close())

describe.skipIf(inject('own') === null)('the slot', () => {
  const env = { JWT_SECRET: randomBytes(32).toString('hex') }
  let host: Server
  let realtime: Server
  let proxy: Proxy

  beforeAll(async () => {
    host = await Server.start({ only: ['rest'], env })
    await host.psql(
      `create table flow (id int primary key); grant select on flow to anon;
       alter publication supabase_realtime add table flow`,
    )
    const { user, password } = await host.superuser()
    const port = await host.psql('show port')
    proxy = new Proxy(Number(port))
    const at = (port: string) => `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
    realtime = await start(
      {
        ...env,
        DATABASE_URL: at(port),
        BASALT_ADOPT_DATABASE: '1',
        REALTIME_REPLICATION_URL: at(String(await proxy.listen())),
        SLOT_NAME_SUFFIX: 'small',
      },
      '[basalt.realtime]\nmax_slot_lag_mb = 1\n',
    )
  })

  test('is read where the settings say, and made anew when it keeps too much', async () => {
    const { url, anonKey } = realtime.access
    const wire = await wires.add({ url, key: anonKey })
    const room = unique('room')
    await watch(wire, room, [{ event: '*', schema: 'public', table: 'flow' }])
    await host.psql('insert into flow values (1)')
    expect((await change(wire, room)).record).toEqual({ id: 1 })
    expect(proxy.connections).toBe(1)
    const position =
      "select catalog_xmin, restart_lsn from pg_replication_slots where slot_name = 'basalt_realtime_small'"
    const before = await host.psql(position)

    await host.psql(
      `create table unpublished as select repeat('x', 1000) from generate_series(1, 5000);
       drop table unpublished`,
    )
    expect(await wire.system(room)).toEqual(subscribed(room))
    expect(await host.psql(position)).not.toBe(before)
    await host.psql('insert into flow values (2)')
    expect((await change(wire, room)).record).toEqual({ id: 2 })
  })
})
