import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import path from 'node:path'

import { Client } from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'

import { freePort } from '../../../bench/lib/ports.mjs'
import { authorityFile, certificate as other } from '../../support/certificate.ts'
import { databaseCertificate, SSL_REQUEST } from '../../support/database-certificate.ts'
import { Server } from '../../support/server.mjs'
import { Platform, startServer } from './support.ts'

/** The code of a request to cancel a statement. */
const CANCEL_CODE = 80_877_102

/** How many connections there may be, how many of an address before their logins, and how many logins may fail. */
const CONNECTIONS = 50
const WAITING = 20
const FAILURES = 10

/** The files of the certificate in the data folder. */
const FILES = ['database-certificate.pem', 'database-key.pem']

interface Login {
  user?: string
  password?: string
  sslmode?: string
  host?: string
  at?: number
  /** Further parameters of the connection's URL. */
  more?: Record<string, string>
}

describe.skipIf(inject('own') === null)('the port of the database for other machines', () => {
  let platform: Platform
  let port: number
  const clients: Client[] = []
  const sockets: Socket[] = []

  beforeAll(async () => {
    port = await freePort()
    platform = await Platform.start({
      env: { BASALT_DATABASE_LISTEN: `127.0.0.1:${String(port)}` },
    })
  })

  beforeEach(async () => {
    await lift(['127.0.0.1'])
  })

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await Promise.all(clients.splice(0).map((client) => client.end().catch(() => undefined)))
    await restrict(['0.0.0.0/0'], ['::/0'])
    await enforce(false)
  })

  /** Logs in, and returns what runs SQL. */
  async function login(options: Login = {}) {
    const {
      user = 'postgres',
      password = 'postgres',
      sslmode = 'no-verify',
      more = {},
      at = port,
    } = options
    const url = new URL(`postgresql://${options.host ?? '127.0.0.1'}:${String(at)}/postgres`)
    url.username = encodeURIComponent(user)
    url.password = encodeURIComponent(password)
    url.search = new URLSearchParams({ sslmode, ...more }).toString()
    const client = new Client({ connectionString: url.href, connectionTimeoutMillis: 10_000 })
    client.on('error', () => undefined)
    await client.connect()
    clients.push(client)
    return Object.assign(async (sql: string) => (await client.query(sql)).rows, { client })
  }

  /** Returns the role that `options` log in as. */
  const who = async (options: Login = {}) => {
    const query = await login(options)
    const [row] = await query('select current_user::text as role')
    return row?.role
  }

  /** Opens a connection from an address of this machine. */
  async function dial(localAddress = '127.0.0.1') {
    const socket = connect({ host: '127.0.0.1', port, localAddress })
    sockets.push(socket)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }

  /** Returns what the server sends next; nothing if it closes the connection. */
  async function next(socket: Socket) {
    return new Promise<string>((resolve) => {
      socket.once('data', (part) => resolve(part.toString('latin1')))
      for (const event of ['end', 'close']) socket.once(event, () => resolve(''))
      if (socket.closed) resolve('')
    })
  }

  /** Returns what a request for encryption from an address is answered with. */
  async function greeting(localAddress?: string) {
    const socket = await dial(localAddress)
    socket.write(SSL_REQUEST)
    const answer = await next(socket)
    socket.destroy()
    return answer
  }

  /** Returns the certificate that the server shows. */
  const shown = () => databaseCertificate(port)

  const kept = (name: string) => path.join(platform.server.dataDir, name)

  async function restrict(dbAllowedCidrs: string[], dbAllowedCidrsV6: string[] = []) {
    const json = { dbAllowedCidrs, dbAllowedCidrsV6 }
    const { status, body } = await platform.project<unknown>(
      'POST',
      '/network-restrictions/apply',
      { json },
    )
    return { status, body }
  }

  async function enforce(database: boolean) {
    const json = { requestedConfig: { database } }
    const { body } = await platform.project<unknown>('PUT', '/ssl-enforcement', { json })
    return body
  }

  async function banned() {
    const { status, body } = await platform.project<{ banned_ipv4_addresses: string[] }>(
      'POST',
      '/network-bans/retrieve',
    )
    expect(status).toBe(201)
    return body.banned_ipv4_addresses
  }

  async function lift(ipv4_addresses: string[], more: object = {}) {
    const json = { ipv4_addresses, ...more }
    const { status } = await platform.project('DELETE', '/network-bans', { json })
    expect(status).toBe(200)
  }

  async function fail(times: number) {
    for (let time = 0; time < times; time++)
      await expect(login({ password: 'wrong' })).rejects.toThrow('password authentication failed')
  }

  test('encrypts logins with the password of the database', async () => {
    const query = await login()
    expect(await query('select current_user::text as role')).toEqual([{ role: 'postgres' }])
    // More than fits into one record of TLS, in both directions.
    const long = 'x'.repeat(300_000)
    const { rows } = await query.client.query('select length($1)::int as sent, $1 as back', [long])
    expect(rows).toEqual([{ sent: long.length, back: long }])
    await expect(query('select 1 / 0')).rejects.toThrow('division by zero')
    expect(await query('select 1 as one')).toEqual([{ one: 1 }])
    await expect(login({ password: 'wrong' })).rejects.toThrow('password authentication failed')
  })

  test('takes logins of the Supabase CLI', async () => {
    const { body } = await platform.project<{ role: string; password: string }>(
      'POST',
      '/cli/login-role',
      { json: { read_only: false } },
    )
    expect(await who({ user: body.role, password: body.password })).toBe('postgres')
    const pooled = `${body.role}.${platform.ref}`
    expect(await who({ user: pooled, password: body.password })).toBe('postgres')
  })

  test('does for postgres what only a superuser may do', async () => {
    const query = await login()
    await query(`
      create schema "Watch"; set search_path = "Watch", public;
      create function tables() returns event_trigger language plpgsql
        as $$ begin perform set_config('watch.seen', tg_tag, false); end $$;
      create event trigger "a 'b' $basalt$" on ddl_command_end when tag in ('CREATE TABLE')
        execute function tables();
      create table watched ()`)
    expect(await query("select current_setting('watch.seen') as seen")).toEqual([
      { seen: 'CREATE TABLE' },
    ])
    const { rows } = await query.client.query({
      name: 'count',
      text: "select count(*)::int from pg_event_trigger where evtname like 'a %'",
    })
    expect(rows).toEqual([{ count: 1 }])
    await query.client.query({ name: 'drop', text: `drop event trigger "a 'b' $basalt$"` })
    await query('create extension if not exists hstore schema "Watch"; drop extension hstore')
    await query('create publication everything for all tables; drop publication everything')
    await query('drop schema "Watch" cascade')
    for (const [refused, code] of [
      ['drop event trigger pgrst_ddl_watch', '42501'],
      ['drop event trigger nobody', '42704'],
      ['create event trigger a on ddl_command_end execute function nobody()', '42883'],
      ['create event trigger a on nothing', '42601'],
      ['begin; set local role anon; create publication p for all tables', '42501'],
    ] as const) {
      await expect(query(refused)).rejects.toMatchObject({ code })
      await query('rollback')
    }
    // It is too long to be read, and Postgres says what it says of anybody.
    const long = `create publication p for all tables -- ${'x'.repeat(2 ** 20)}`
    await expect(query(long)).rejects.toMatchObject({ code: '42501' })
  })

  test('understands the names that a pooler takes', async () => {
    expect(await who({ user: `postgres.${platform.ref}` })).toBe('postgres')
    const query = await login({
      more: { options: `reference=${platform.ref} -c application_name=cli` },
    })
    expect(await query('show application_name')).toEqual([{ application_name: 'cli' }])
    await expect(login({ user: 'postgres.short' })).rejects.toThrow(/authentication failed/)
  })

  test('takes logins of roles that the operator has made', async () => {
    await platform.server.psql("create role reporter login password 'reports'")
    const reporter = { user: 'reporter', password: 'reports' }
    expect(await who(reporter)).toBe('reporter')
    expect(await who({ ...reporter, user: `reporter.${platform.ref}` })).toBe('reporter')
    await expect(who({ ...reporter, password: 'wrong' })).rejects.toThrow('authentication failed')
    await platform.server.psql('alter role reporter nologin')
    await expect(who(reporter)).rejects.toThrow('not permitted to log in')
  })

  test('is closed to the roles of the services', async () => {
    const { user, password } = await platform.server.superuser()
    expect(user).toBe('supabase_admin')
    // Whose password is right: on the machine itself, it does.
    expect(await platform.server.psql('select 1')).toBe('1')
    const pooled = `${user}.${platform.ref}`
    for (const role of [
      user,
      pooled,
      'authenticator',
      'supabase_auth_admin',
      'supabase_storage_admin',
      'supabase_read_only_user',
      'supabase_logs_reader',
    ])
      await expect(login({ user: role, password })).rejects.toMatchObject({
        code: '28000',
        severity: 'FATAL',
        message: `role "${role === pooled ? user : role}" cannot log in from other machines`,
      })
    const query = await login()
    await expect(query(`set role ${user}`)).rejects.toThrow('permission denied')
  })

  test('takes connections without encryption unless it is demanded', async () => {
    const ssl = async () => (await platform.project<unknown>('GET', '/ssl-enforcement')).body
    const applied = (database: boolean) => ({
      currentConfig: { database },
      appliedSuccessfully: true,
    })
    expect(await ssl()).toEqual(applied(false))
    expect(await who({ sslmode: 'disable' })).toBe('postgres')
    expect(await enforce(true)).toEqual(applied(true))
    expect(await ssl()).toEqual(applied(true))
    await expect(who({ sslmode: 'disable' })).rejects.toMatchObject({
      code: '28000',
      severity: 'FATAL',
      message: expect.stringMatching(/encrypted.*sslmode=require/) as string,
    })
    expect(await who()).toBe('postgres')
    expect(await enforce(false)).toEqual(applied(false))
    expect(await who({ sslmode: 'disable' })).toBe('postgres')
  })

  test('bans addresses whose logins fail too often', async () => {
    expect(await banned()).toEqual([])
    const open = await login()
    await fail(FAILURES - 1)
    expect(await who()).toBe('postgres')
    expect(await banned()).toEqual([])
    await fail(1)
    expect(await banned()).toEqual(['127.0.0.1'])
    await expect(login()).rejects.toThrow()
    expect(await greeting()).toBe('')
    expect(
      (await platform.project<unknown>('POST', '/network-bans/retrieve/enriched')).body,
    ).toEqual({
      banned_ipv4_addresses: [
        { banned_address: '127.0.0.1', identifier: platform.ref, type: 'supabase_project' },
      ],
    })
    // Others are not, nor is who is in.
    expect(await greeting('127.0.0.2')).toBe('S')
    expect(await open('select 1 as one')).toEqual([{ one: 1 }])
    await lift(['127.0.0.2'])
    expect(await greeting()).toBe('')
    await lift(['127.0.0.1'])
    expect(await banned()).toEqual([])
    expect(await who()).toBe('postgres')
    // The count begins anew.
    await fail(FAILURES - 1)
    expect(await banned()).toEqual([])
    await fail(1)
    await expect.poll(banned).toEqual(['127.0.0.1'])
    await lift([], { requester_ip: true })
    expect(await who()).toBe('postgres')
  })

  test('takes connections of allowed networks only', async () => {
    const all = { dbAllowedCidrs: ['0.0.0.0/0'], dbAllowedCidrsV6: ['::/0'] }
    const shownRules = async () =>
      (await platform.project<{ config: unknown }>('GET', '/network-restrictions')).body
    expect(await shownRules()).toMatchObject({ entitlement: 'allowed', config: all })
    const open = await login()
    const config = { dbAllowedCidrs: ['127.0.0.2/32'], dbAllowedCidrsV6: ['2001:db8::/32'] }
    expect(await restrict(config.dbAllowedCidrs, config.dbAllowedCidrsV6)).toMatchObject({
      status: 201,
      body: { config, status: 'applied' },
    })
    expect(await shownRules()).toMatchObject({ config })
    await expect(login()).rejects.toThrow()
    expect([await greeting(), await greeting('127.0.0.2')]).toEqual(['', 'S'])
    expect(await open('select 1 as one')).toEqual([{ one: 1 }])
    const change = { add: { dbAllowedCidrs: ['127.0.0.0/31'] }, remove: config }
    expect(
      await platform.project<unknown>('PATCH', '/network-restrictions', { json: change }),
    ).toMatchObject({ status: 200 })
    expect(await who()).toBe('postgres')
    expect([await greeting(), await greeting('127.0.0.2')]).toEqual(['S', ''])
    for (const wrong of ['127.0.0.1/33', 'everybody', ''])
      expect(await restrict([wrong])).toMatchObject({ status: 400 })
    expect([await greeting(), await greeting('127.0.0.2')]).toEqual(['S', ''])
    // Nobody may connect if no network is left, or none is asked for.
    const last = { remove: { dbAllowedCidrs: ['127.0.0.0/31'] } }
    await platform.project('PATCH', '/network-restrictions', { json: last })
    const none = { dbAllowedCidrs: [], dbAllowedCidrsV6: [] }
    expect(await shownRules()).toMatchObject({ config: none })
    expect(await greeting()).toBe('')
    expect(await restrict(all.dbAllowedCidrs, all.dbAllowedCidrsV6)).toMatchObject({ status: 201 })
    expect(await greeting('127.0.0.2')).toBe('S')
    expect(await restrict([], [])).toMatchObject({ status: 201, body: { config: none } })
    expect(await greeting('127.0.0.2')).toBe('')
    expect(await restrict(all.dbAllowedCidrs, all.dbAllowedCidrsV6)).toMatchObject({ status: 201 })
    expect(await greeting('127.0.0.2')).toBe('S')
  })

  test('lets only tokens that may change its rules', async () => {
    const token = await platform.createToken('--name', 'reads', '--scopes', 'read-only')
    const refused = [
      ['POST', '/network-restrictions/apply', { dbAllowedCidrs: ['192.0.2.0/24'] }],
      ['PUT', '/ssl-enforcement', { requestedConfig: { database: true } }],
      ['DELETE', '/network-bans', { ipv4_addresses: ['127.0.0.1'] }],
    ] as const
    for (const [method, place, json] of refused)
      expect((await platform.project(method, place, { json, token })).status).toBe(403)
    expect(await who({ sslmode: 'disable' })).toBe('postgres')
    expect((await platform.project('GET', '/network-restrictions', { token })).status).toBe(200)
  })

  test('is not disturbed by clients that speak something else', async () => {
    const garbage = [
      'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
      Buffer.alloc(4096, 0xff),
      Buffer.from('0000000000000000', 'hex'),
      Buffer.from('7fffffff00030000', 'hex'),
      // What is sent before the encryption would be taken for what is encrypted.
      Buffer.concat([SSL_REQUEST, Buffer.from('0000001600030000757365720070670000', 'hex')]),
      Buffer.concat([SSL_REQUEST, SSL_REQUEST, SSL_REQUEST]),
    ]
    for (const bytes of garbage) {
      const socket = await dial()
      socket.write(bytes)
      await new Promise((resolve) => socket.resume().once('close', resolve))
    }
    expect(await banned()).toEqual([])
    const silent = [await dial(), await dial(), await dial()]
    silent[1]?.write(SSL_REQUEST.subarray(0, 5))
    silent[2]?.write(SSL_REQUEST)
    silent[2]?.end()
    expect(await Promise.all([who(), who(), who()])).toEqual(Array(3).fill('postgres'))
  })

  test('takes a number of connections, and more once some have ended', async () => {
    for (let number = 0; number < CONNECTIONS; number += 1) await login()
    await expect(login()).rejects.toMatchObject({ code: '53300' })
    await clients.pop()?.end()
    await expect.poll(() => who().catch(() => 'nobody')).toBe('postgres')
  })

  test('leaves places for others if an address does not log in', async () => {
    const taken = await Promise.all(Array.from({ length: WAITING }, () => dial()))
    await expect.poll(() => greeting()).toBe('')
    expect(await greeting('127.0.0.2')).toBe('S')
    for (const socket of taken) socket.destroy()
    await expect.poll(() => greeting()).toBe('S')
    expect(await who()).toBe('postgres')
  })

  test('lets queries be cancelled', async () => {
    const { client } = await login()
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number }
    const asleep = expect(client.query('select pg_sleep(50)')).rejects.toMatchObject({
      code: '57014',
      message: 'canceling statement due to user request',
    })
    const state = `select state from pg_stat_activity where pid = ${String(processID)}`
    await expect.poll(() => platform.server.psql(state)).toBe('active')
    const request = Buffer.alloc(16)
    for (const [index, value] of [16, CANCEL_CODE, processID].entries())
      request.writeInt32BE(value, index * 4)
    request.writeInt32BE(secretKey, 12)
    const socket = await dial()
    socket.resume()
    socket.write(request)
    await asleep
  })

  test('keeps a certificate that clients can check', async () => {
    const certificate = new X509Certificate(await readFile(kept('database-certificate.pem')))
    expect(await shown()).toBe(certificate.fingerprint256)
    expect(certificate.checkHost('localhost')).toBe('localhost')
    for (const name of FILES)
      expect([name, (await stat(kept(name))).mode & 0o777]).toEqual([name, 0o600])
    const verified = (sslrootcert: string) =>
      who({ host: 'localhost', sslmode: 'verify-full', more: { sslrootcert } })
    expect(await verified(kept('database-certificate.pem'))).toBe('postgres')
    await expect(verified(authorityFile)).rejects.toThrow(/self-signed|unable to verify/)
  })

  test('keeps its rules and its certificate when it is open for everybody', async () => {
    await restrict(['127.0.0.0/31'])
    const before = await Promise.all(FILES.map((name) => readFile(kept(name), 'utf8')))
    const fingerprint = await shown()
    const { dataDir, project } = platform.server
    await platform.server.stop({ keepData: true })
    const everybody = { BASALT_DATABASE_LISTEN: `0.0.0.0:${String(port)}` }
    const options = { project, dataDir, folders: [project] }
    await expect(Server.start({ ...options, env: everybody })).rejects.toThrow(
      /everybody knows.*default_database_password/s,
    )
    const env = { ...everybody, BASALT_DEFAULT_DATABASE_PASSWORD: 'false' }
    platform = await Platform.of(await Server.start({ ...options, env }))
    expect(await Promise.all(FILES.map((name) => readFile(kept(name), 'utf8')))).toEqual(before)
    expect(await shown()).toBe(fingerprint)
    expect([await greeting(), await greeting('127.0.0.2')]).toEqual(['S', ''])
    await expect(login()).rejects.toThrow('password authentication failed')
    const lines = (await readFile(kept('pgpass'), 'utf8')).trim().split('\n')
    const own = lines.map((line) => line.split(':')).find(([, , , user]) => user === 'postgres')
    const password = own?.[4]
    expect(password?.length).toBeGreaterThan(16)
    expect(await who({ password })).toBe('postgres')
    // Whatever the rules say.
    expect(await enforce(false)).toEqual({
      message: expect.stringContaining('have to be encrypted') as string,
    })
    await expect(who({ password, sslmode: 'disable' })).rejects.toThrow('have to be encrypted')
  })

  test('shows the certificate of the operator', async () => {
    const [host, at] = ['localhost', await freePort()]
    const files = { 'chain.pem': String(other.cert), 'key.pem': String(other.key) }
    const chain = '[basalt.database]\ncertificate = "chain.pem"\n'
    const env = { BASALT_DATABASE_LISTEN: `127.0.0.1:${String(at)}` }
    await expect(startServer({ files, env, config: chain })).rejects.toThrow(
      /basalt\.database\.private_key/,
    )
    const server = await startServer({ files, env, config: `${chain}private_key = "key.pem"\n` })
    const more = { sslrootcert: authorityFile }
    expect(await who({ host, at, sslmode: 'verify-full', more })).toBe('postgres')
    await expect(stat(path.join(server.dataDir, 'database-key.pem'))).rejects.toThrow('ENOENT')
    await server.stop()
  })

  test('has no rules where it is not open', async () => {
    const without = await Platform.of(await startServer())
    expect(await without.project('GET', '/network-restrictions')).toMatchObject({
      status: 200,
      body: { entitlement: 'disallowed' },
    })
    const json = { dbAllowedCidrs: ['192.0.2.0/24'] }
    expect(await without.project('POST', '/network-restrictions/apply', { json })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('basalt.database.listen') as string },
    })
    await without.server.stop()
  })
})
