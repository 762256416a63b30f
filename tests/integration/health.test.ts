/** What is wrong with a server, since when, and what to do: in one list, in metrics, in a command and in messages. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { basalt } from '../support/backup.mjs'
import { listOfProblems, Webhook, type List, type Message } from '../support/health.ts'
import { psqlAsSuperuser, Server } from '../support/server.mjs'
import { MailServer } from '../support/smtp.ts'

/** Settings that are safe in public, but for what a test adds. */
const safe = {
  BASALT_DEFAULT_DATABASE_PASSWORD: 'false',
  API_EXTERNAL_URL: 'https://shop.example',
  SITE_URL: 'https://shop.example',
}

/** How long something that the server does by itself may take. */
const patience = { timeout: 45_000, interval: 250 }

const config = `
[auth.rate_limit]
email_sent = 1000
[functions.broken]
verify_jwt = false
`

describe.skipIf(inject('own') === null)('the health of a server', { timeout: 120_000 }, () => {
  let folder: string
  let project: string
  let server: Server
  let mails: MailServer
  let webhook: Webhook
  let messages: Message[]

  const settings = () => ({
    // Behind a proxy, so that strangers can reach it.
    BASALT_TRUSTED_PROXIES: '1',
    BASALT_REQUESTS_PER_ADDRESS: '20',
    BASALT_ADMIN_PORT: '0',
    BASALT_LOG: 'info',
    BASALT_HEALTH_WEBHOOK: webhook.url,
    SSL_CERT_FILE: mails.settings.SSL_CERT_FILE ?? '',
  })
  const start = (dataDir?: string) => {
    const data = dataDir === undefined ? {} : { dataDir }
    return Server.start({ ...data, project, env: settings(), keepsLog: true })
  }
  const list = (query?: string) => listOfProblems(server, query)
  const found = async (name: string) =>
    (await list()).problems.filter((problem) => problem.name === name)
  const subjects = async (name: string) => (await found(name)).map((problem) => problem.subject)
  const superuser = (sql: string) => psqlAsSuperuser(server.instance, sql)

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-health-'))
    project = path.join(folder, 'project')
    await mkdir(path.join(project, 'functions/broken'), { recursive: true })
    await writeFile(path.join(project, 'config.toml'), config)
    await writeFile(
      path.join(project, 'functions/broken/index.ts'),
      "throw new Error('not today')\n",
    )
    mails = await MailServer.start()
    mails.isRefusing = true
    webhook = await Webhook.start()
    messages = webhook.messages
    server = await start()
  })

  afterAll(async () => {
    mails.stop()
    webhook.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('settings that are unsafe in public are in the list', async () => {
    const { problems, public: isPublic } = await list()
    expect(isPublic).toBe(true)
    // The machine of the tests may have a full disk.
    const own = problems.filter(({ name }) => !name.startsWith('disk_'))
    expect(own.map(({ name, severity }) => `${severity} ${name}`).sort()).toEqual([
      'critical default_database_password',
      'warning backups_off',
      'warning inbox_on',
      'warning site_url_is_local',
    ])
    const [first] = own
    expect(first).toMatchObject({ name: 'default_database_password', subject: 'postgres' })
    expect(first?.what).toContain('which everybody knows')
    expect(first?.remedy).toBe('Set basalt.default_database_password = false')
  })

  test('strangers see nothing of it', async () => {
    const { url, serviceKey } = server.access
    for (const place of ['/health/problems', '/health/problems?public=true', '/problems']) {
      const response = await fetch(url + place, { headers: { apikey: serviceKey } })
      expect(response.status, place).toBe(404)
      expect(await response.text()).not.toContain('default_database_password')
    }
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok' })
    const proxied = await fetch(`${server.adminUrl}/health/problems`, {
      headers: { 'X-Forwarded-For': '192.0.2.1' },
    })
    expect(proxied.status).toBe(403)
  })

  test('operators see it with an access token that may read the project', async () => {
    const token = (await basalt(server.instance, ['token', 'create'], server.environment)).output
    const headers = { Authorization: `Bearer ${/sbp_\w+/.exec(token)?.[0] ?? ''}` }
    const projects = await fetch(`${server.access.url}/v1/projects`, { headers })
    const [{ ref = '' } = {}] = (await projects.json()) as { ref?: string }[]
    const place = `${server.access.url}/v1/projects/${ref}/health/problems`
    const response = await fetch(place, { headers })
    expect(((await response.json()) as List).problems.map(({ name }) => name)).toContain('inbox_on')
    const withKey = { Authorization: `Bearer ${server.access.serviceKey}` }
    expect((await fetch(place, { headers: withKey })).status).toBe(401)
    expect((await fetch(place)).status).toBe(401)
  })

  test('the webhook gets the list at once when something critical begins', async () => {
    await expect.poll(() => messages.length, patience).toBeGreaterThan(0)
    const [message] = messages
    expect(message).toMatchObject({ event: 'critical', server: server.access.url })
    expect(message?.problems.map(({ name }) => name)).toContain('default_database_password')
    expect(message?.text).toContain('To do: Set basalt.default_database_password = false.')
  })

  test('problems are counted in metrics, and logged', async () => {
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text()
    expect(metrics).toContain('basalt_problems{name="inbox_on",severity="warning"} 1\n')
    expect(server.log).toMatch(/a critical problem has begun.*default_database_password/)
    expect(server.log).not.toContain('a-token')
  })

  test('a table without row-level security is one until it has some', async () => {
    await server.psql('create table public.open_notes (id int primary key)')
    const [table] = await found('rls_disabled_in_public')
    expect(table).toMatchObject({ subject: 'public.open_notes', severity: 'critical' })
    await server.psql('alter table public.open_notes enable row level security')
    expect(await subjects('rls_disabled_in_public')).toEqual([])
    await expect.poll(() => server.log, patience).toMatch(/a problem has ended.*open_notes/)
  })

  test('a replication slot that nobody reads is one once it keeps much', async () => {
    await superuser("select pg_create_physical_replication_slot('left_over', true)")
    expect(await subjects('replication_slot_inactive')).toEqual([])
    // Each file of the log has 16 MiB, however little is in it.
    for (let file = 0; file < 18; file++) await superuser('select pg_switch_wal(), txid_current()')
    const [slot] = await found('replication_slot_inactive')
    expect(slot).toMatchObject({ subject: 'left_over' })
    expect(slot?.what).toMatch(/^Nobody reads this slot, and 2[0-9]{2} MiB/)
    expect(slot?.remedy).toContain("select pg_drop_replication_slot('left_over')")

    await new Promise((resolve) => setTimeout(resolve, 1100))
    const [later] = await found('replication_slot_inactive')
    expect(later?.since, 'it has begun when it was found first').toBe(slot?.since)
    await superuser("select pg_drop_replication_slot('left_over')")
    expect(await subjects('replication_slot_inactive')).toEqual([])
  })

  test('a function that does not start is one until it does', async () => {
    const call = () => fetch(`${server.access.url}/functions/v1/broken`)
    const isFound = async () => {
      expect((await call()).status).toBe(503)
      return subjects('function_does_not_start')
    }
    await expect.poll(isFound, patience).toEqual(['broken'])
    const [broken] = await found('function_does_not_start')
    expect(broken?.severity).toBe('critical')
    expect(broken?.what).toMatch(/\d starts in a row failed.*its process ended before it was ready/)
    await writeFile(
      path.join(project, 'functions/broken/index.ts'),
      "Deno.serve(() => new Response('mended'))\n",
    )
    await expect.poll(async () => (await call()).status, patience).toBe(200)
    expect(await subjects('function_does_not_start')).toEqual([])
  })

  test('limits that refuse many requests are one', async () => {
    const headers = { 'X-Forwarded-For': '192.0.2.9', apikey: server.access.anonKey }
    for (let request = 0; request < 90; request++) {
      const response = await fetch(`${server.access.url}/auth/v1/settings`, { headers })
      expect(response.status).toBe(request < 20 ? 200 : 429)
    }
    const [limit] = await found('rate_limits_refuse')
    expect(limit).toMatchObject({ subject: 'auth', severity: 'warning' })
    expect(limit?.what).toMatch(/^70 of \d+ requests within 5 minutes were refused with 429/)
  })

  test('a mail server that refuses is one, instead of mails that are kept', async () => {
    const lines = Object.entries(mails.settings).map(([name, value]) => `${name}=${value}\n`)
    await writeFile(path.join(project, '.env'), lines.join(''))
    server.process.kill('SIGHUP')
    await expect.poll(() => subjects('inbox_on'), patience).toEqual([])
    const ask = async (email: string) => {
      const headers = { apikey: server.access.anonKey, 'Content-Type': 'application/json' }
      const body = JSON.stringify({ email })
      return fetch(`${server.access.url}/auth/v1/otp`, { method: 'POST', headers, body })
    }
    for (const name of ['one', 'two']) expect((await ask(`${name}@shop.example`)).status).toBe(500)
    expect(await subjects('mails_fail')).toEqual([])
    expect((await ask('three@shop.example')).status).toBe(500)
    const [failing] = await found('mails_fail')
    expect(failing).toMatchObject({ subject: 'auth', severity: 'warning' })
    expect(failing?.what).toContain('The last 3 mails could not be sent')
    mails.isRefusing = false
    expect((await ask('four@shop.example')).status).toBe(200)
    expect(await subjects('mails_fail')).toEqual([])
  })

  test('basalt doctor --public says it, and fails if something is critical', async () => {
    const doctor = await basalt(server.instance, ['doctor', '--public'], server.environment)
    expect(doctor.status).toBe(1)
    expect(doctor.output).toMatch(/critical default_database_password: postgres\n.*\n.*Since 20/)
    expect(doctor.output).toContain('1 problem is critical')

    const elsewhere = path.join(folder, 'elsewhere')
    await mkdir(elsewhere)
    await writeFile(path.join(elsewhere, 'config.toml'), '')
    const instance = {
      ...server.instance,
      project: elsewhere,
      dataDir: path.join(elsewhere, '.data'),
    }
    const settings = await basalt(instance, ['doctor', '--public'], { ...process.env, ...safe })
    expect(settings.status).toBe(0)
    expect(settings.output).toContain('No server of this project is running')
    expect(settings.output).toMatch(/warning {2}backups_off/)
    const open = { ...process.env, ...safe, API_EXTERNAL_URL: 'http://shop.example' }
    const refused = await basalt(instance, ['doctor', '--public'], open)
    expect(refused.status).toBe(1)
    expect(refused.output).toContain('critical plain_http: API_EXTERNAL_URL')
  })

  test('a problem lasts over a restart, and is not told again', async () => {
    const [before] = await found('default_database_password')
    const told = messages.length
    const { dataDir } = server
    await server.stop({ keepData: true })
    expect(JSON.parse(await readFile(path.join(dataDir, 'health.json'), 'utf8'))).not.toEqual([])
    server = await start(dataDir)
    const [after] = await found('default_database_password')
    expect(after?.since).toBe(before?.since)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(messages).toHaveLength(told)
  })
})
