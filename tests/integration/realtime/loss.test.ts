/** Row changes while what carries them breaks: the stream's server process, Postgres, the network, the server. */
import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { createClient, type RealtimeClientOptions } from '@supabase/supabase-js'
import ws from 'ws'
import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Proxy } from '../../support/proxy.ts'
import { psqlAsSuperuser, Server } from '../../support/server.mjs'

/** Rows of one test, written a thousand a second. */
const ROWS = 3000

const connect = (url: string, key: string) =>
  createClient(url, key, {
    realtime: { transport: ws as unknown as RealtimeClientOptions['transport'] },
  })

describe.skipIf(inject('own') === null)('no row change is lost', () => {
  const env = {
    JWT_SECRET: randomBytes(32).toString('hex'),
    TENANT_MAX_EVENTS_PER_SECOND: '1000000',
  }
  let host: Server
  let realtime: Server
  let dataDir: string
  let database: Proxy
  let sockets: Proxy
  let url: string
  let client: ReturnType<typeof connect>
  let received: number[]

  // One server has the database; another one, with realtime, reaches it over the network, as its clients reach it.
  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'basalt-second-'))
    host = await Server.start({ only: ['rest'], env })
    await host.psql(
      `create table flow (id bigint generated always as identity primary key, written timestamptz default now());
       grant select on flow to anon;
       alter publication supabase_realtime add table flow`,
    )
    database = new Proxy(Number(await host.psql('show port')))
    const { user, password } = await host.superuser()
    url = `postgres://${user}:${password}@127.0.0.1:${String(await database.listen())}/postgres`
    realtime = await start()
    sockets = new Proxy(Number(new URL(realtime.access.url).port))
    const address = `http://127.0.0.1:${String(await sockets.listen())}`
    client = connect(address, realtime.access.anonKey)
    await new Promise<void>((resolve) => {
      client
        .channel('flow')
        .on('postgres_changes', { event: 'INSERT', schema: 'public', table: 'flow' }, (change) => {
          received.push((change.new as { id: number }).id)
        })
        .on('system', {}, ({ status }: { status: string }) => {
          if (status === 'ok') resolve()
        })
        .subscribe()
    })
  })

  const start = () =>
    Server.start({
      only: ['realtime'],
      dataDir,
      env: { ...env, DATABASE_URL: url, BASALT_ADOPT_DATABASE: '1' },
    })

  /** Writes the rows, one transaction each; goes on if Postgres ends it. */
  async function write() {
    const before = Number(await host.psql('select count(*) from flow'))
    for (;;) {
      const written = await host
        .psql(
          `do $$ begin
             while (select count(*) from flow) < ${String(before + ROWS)} loop
               for i in 1..10 loop insert into flow default values; commit; end loop;
               perform pg_sleep(0.005);
             end loop;
           end $$`,
        )
        .catch(() => 'again')
      if (written !== 'again') break
      await pause(100)
    }
    return host.psql('select json_agg(id order by id) from flow')
  }

  const pause = (milliseconds: number) =>
    new Promise((resolve) => setTimeout(resolve, milliseconds))

  async function expectAllWhile(breaks: () => Promise<void>) {
    await host.psql('truncate flow')
    received = []
    const writing = write()
    await breaks()
    const ids = JSON.parse(await writing) as number[]
    await expect.poll(() => received.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(ids.length)
    await pause(500)
    expect(received).toEqual(ids)
  }

  test('when the process of Postgres that sends them is ended', { timeout: 120_000 }, async () => {
    await expectAllWhile(async () => {
      for (let times = 0; times < 4; times += 1) {
        await pause(500)
        await psqlAsSuperuser(
          host.instance,
          "select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name like 'basalt%'",
        )
      }
    })
  })

  test('when the network between server and Postgres breaks', { timeout: 120_000 }, async () => {
    await expectAllWhile(async () => {
      for (let times = 0; times < 4; times += 1) {
        await pause(500)
        database.cut()
      }
    })
  })

  test('when Postgres crashes', { timeout: 120_000 }, async () => {
    await expectAllWhile(async () => {
      await pause(1000)
      const pid = await host.psql(
        "select pid from pg_stat_activity where backend_type = 'background writer'",
      )
      process.kill(Number(pid), 'SIGKILL')
    })
  })

  test('when the server restarts', { timeout: 120_000 }, async () => {
    await expectAllWhile(async () => {
      await pause(1000)
      await realtime.stop({ keepData: true })
      realtime = await start()
      sockets.port = Number(new URL(realtime.access.url).port)
    })
  })
})
