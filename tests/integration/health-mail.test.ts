/** Messages to the operator about problems, by mail and by a webhook: at once, and once a day. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { listOfProblems, Webhook, type Message } from '../support/health.ts'
import { parse } from '../support/mime.mjs'
import { Server } from '../support/server.mjs'
import { MailServer } from '../support/smtp.ts'

/** A key that only a function has. */
const PAY_KEY = 'sk_live_of_tests'
/** How long something that the server does by itself may take: until the next minute, and some more. */
const patience = { timeout: 120_000, interval: 500 }

/** Returns a time of day (UTC), such as `06:00`. */
const timeOfDay = (date: Date) => date.toISOString().slice(11, 16)

describe.skipIf(inject('own') === null)('an operator', { timeout: 150_000 }, () => {
  let folder: string
  let project: string
  let server: Server
  let mails: MailServer
  let webhook: Webhook
  let messages: Message[]

  /** Has the server look now, and returns the names of what it has found. */
  const look = async () => (await listOfProblems(server)).problems.map(({ name }) => name)
  /** Returns the newest mail. */
  const newest = () => {
    const { text = '', ...delivery } = mails.deliveries.at(-1) ?? {}
    const { headers, parts } = parse(text)
    const plain = parts.find(({ type }) => type === 'text/plain')?.text.replaceAll('\r\n', '\n')
    return { ...delivery, headers, text: plain?.trimEnd() }
  }
  /** Fails if the newest message has what nobody beside the operator's machine may know. */
  const expectNoSecrets = async () => {
    const { SERVICE_ROLE_KEY, SECRET_KEY, JWT_SECRET, ...others } = await server.status()
    const { password } = await server.superuser()
    const known = [SERVICE_ROLE_KEY, SECRET_KEY, JWT_SECRET, others.S3_PROTOCOL_ACCESS_KEY_SECRET]
    const set = [PAY_KEY, mails.settings.GOTRUE_SMTP_PASS, '/a-token']
    const message = JSON.stringify(messages.at(-1)) + JSON.stringify(newest().text)
    for (const secret of [...known, password, ...set]) {
      expect(secret).toBeTruthy()
      expect(message).not.toContain(secret)
    }
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-health-'))
    project = path.join(folder, 'project')
    await mkdir(path.join(project, 'functions/broken'), { recursive: true })
    await writeFile(path.join(project, 'config.toml'), '')
    // The daily message of the first test is hours away.
    const later = timeOfDay(new Date(Date.now() + 12 * 3_600_000))
    const settings = `BASALT_HEALTH_MAIL_TO=ops@shop.example\nBASALT_HEALTH_AT=${later}\n`
    await writeFile(path.join(project, '.env'), settings)
    const source = "throw new Error(`no shop takes ${Deno.env.get('PAY_KEY')}`)\n"
    await writeFile(path.join(project, 'functions/broken/index.ts'), source)
    await writeFile(path.join(project, 'functions/.env'), `PAY_KEY=${PAY_KEY}\n`)
    mails = await MailServer.start()
    mails.isRefusing = true
    webhook = await Webhook.start()
    messages = webhook.messages
    server = await Server.start({
      project,
      keepsLog: true,
      env: {
        ...mails.settings,
        // Behind a proxy, so that strangers can reach it.
        BASALT_TRUSTED_PROXIES: '1',
        BASALT_ADMIN_PORT: '0',
        BASALT_HEALTH_WEBHOOK: webhook.url,
      },
    })
  })

  afterAll(async () => {
    mails.stop()
    webhook.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('gets a mail at once when something critical begins, also if it is refused first', async () => {
    await look()
    await expect.poll(() => mails.refused, patience).toBeGreaterThan(0)
    mails.isRefusing = false
    await expect.poll(() => mails.deliveries.length, patience).toBe(1)
    const { headers, text, ...delivery } = newest()
    expect(delivery).toMatchObject({ to: 'ops@shop.example', encrypted: true })
    expect(headers.get('from')).toBe('club@terrace.example')
    expect(headers.get('subject')).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+: \d problems \(\d critical\)$/,
    )
    expect(text).toContain('CRITICAL default_database_password: postgres\n')
    expect(text).toMatch(/with the password "postgres", which everybody knows.*\nSince 20/)
    expect(text).toContain('\nTo do: Set basalt.default_database_password = false.')
    expect(messages.map(({ event }) => event)).toEqual(['critical'])
    expect(messages[0]?.text.trimEnd()).toBe(text)
    await expectNoSecrets()
  })

  test('gets all problems once a day, at the time and the address of new settings', async () => {
    const call = () => fetch(`${server.access.url}/functions/v1/broken`, { headers })
    const headers = { authorization: `Bearer ${server.access.anonKey}` }
    const find = async () => {
      await (await call()).body?.cancel()
      return look()
    }
    await expect.poll(find, patience).toContain('function_does_not_start')
    expect(server.log).toContain(PAY_KEY)
    // The critical one of the first mail was less than ten minutes ago: this one waits.
    expect(mails.deliveries).toHaveLength(1)

    const soon = timeOfDay(new Date(Math.ceil((Date.now() + 15_000) / 60_000) * 60_000))
    const config = `[basalt.health]\nmail_to = "night@shop.example"\nat = "${soon}"\n`
    await writeFile(path.join(project, 'config.toml'), config)
    await rm(path.join(project, '.env'))
    server.process.kill('SIGHUP')
    const wait = async () => {
      await look()
      return mails.deliveries.length
    }
    await expect.poll(wait, patience).toBe(2)
    const { text, to } = newest()
    expect(to).toBe('night@shop.example')
    expect(text).toContain('CRITICAL function_does_not_start: broken\n')
    expect(text).toContain('\nWARNING backups_off: backups\n')
    await expect.poll(() => messages.map(({ event }) => event)).toEqual(['critical', 'daily'])
    expect(messages[1]?.text.trimEnd()).toBe(text)
    await expectNoSecrets()
  })
})
