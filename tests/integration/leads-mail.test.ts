import { beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { callFunction, contactSubmission } from '../support/leads.ts'
import { Server } from '../support/server.mjs'
import { MailServer } from '../support/smtp.ts'

describe.skipIf(inject('own') === null)('a mail to the team that its server does not take', () => {
  let server: Server
  let mails: MailServer

  beforeAll(async () => {
    mails = await MailServer.start()
    const only = ['rest', 'auth', 'functions']
    server = await Server.start({ only, env: mails.settings })
  })

  async function call(key: string, body: object) {
    const headers = { authorization: `Bearer ${key}` }
    const response = await callFunction(server, 'contact-notification', body, headers)
    expect(await response.json()).toMatchObject({ success: true })
  }

  /** Does what the server does itself every so often. */
  const retry = () => call(server.access.serviceKey, { type: 'scheduled' })

  /**
   * Returns how often the mail was tried, the minutes until it is due again, whether it is sent, and the last
   * failure.
   */
  async function queued(id: string) {
    const row = await server.psql(
      `select attempts, ceil(extract(epoch from due_at - now()) / 60), sent_at is not null, last_error
       from private.lead_mails where lead_id = '${id}'`,
    )
    const [attempts, minutes, isSent, error] = row.split('|')
    return { attempts: Number(attempts), minutes: Number(minutes), isSent: isSent === 't', error }
  }

  test('waits longer each time, and arrives once', async () => {
    const lead = contactSubmission()
    const { record } = lead
    const makeDue = () =>
      server.psql(`update private.lead_mails set due_at = now() where lead_id = '${record.id}'`)

    mails.isRefusing = true
    await call(server.access.anonKey, lead)
    // The visitor does not wait for the mail.
    await vi.waitUntil(async () => (await queued(record.id)).error !== '', { timeout: 20_000 })
    const first = await queued(record.id)
    expect(first).toMatchObject({ attempts: 1, minutes: 1, isSent: false })
    expect(first.error).toContain('did not take the mail')
    const kept = `select email from public.contact_submissions where id = '${record.id}'`
    expect(await server.psql(kept)).toBe('ada@club.example')

    await retry()
    expect(await queued(record.id), 'before it is due').toMatchObject({ attempts: 1 })
    await makeDue()
    await retry()
    expect(await queued(record.id)).toMatchObject({ attempts: 2, minutes: 2, isSent: false })
    expect([mails.refused, mails.deliveries.length]).toEqual([2, 0])

    mails.isRefusing = false
    await makeDue()
    await retry()
    expect(await queued(record.id)).toMatchObject({ attempts: 3, isSent: true, error: '' })
    await makeDue()
    await retry()
    await call(server.access.anonKey, lead)
    await retry()
    expect(mails.deliveries).toHaveLength(1)
    expect(mails.deliveries[0]?.text).toContain(record.id)
    expect(await queued(record.id)).toMatchObject({ attempts: 3, isSent: true })
  })
})
