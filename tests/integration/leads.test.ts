import { randomUUID } from 'node:crypto'

import { describe, expect, inject, test } from 'vitest'

import { contactSubmission, csrfToken } from '../support/leads.ts'
import { invoke, service, visitor } from './clients.ts'

const own = inject('own')

const contact = (changes: object = {}) =>
  contactSubmission({
    email: 'Ada@Club.example',
    message: 'Two lines,\n<b>one & bold</b>',
    ...changes,
  })

async function send(body: unknown) {
  const { data, error } = await invoke<{ success: boolean }>(visitor(), 'contact-notification', {
    body: body as Record<string, unknown>,
  })
  if (error === null) return { status: 200, error: null, data }
  const { error: words } = (await error.context?.json()) as { error: string }
  return { status: error.context?.status, error: words, data }
}

describe.skipIf(own === null)('what visitors send to the team', () => {
  const { record, ...rest } = contact()

  test.each([
    ['no record', { ...rest }, 400, 'The record is missing.'],
    ['a token of another shape', { ...rest, record, csrf_token: 'abc' }, 403, /security token/],
    ['another type', { ...rest, record, type: 'spam' }, 400, 'The type is not known.'],
    ['an id that is none', contact({ id: '1; drop' }), 400, 'The id is not valid.'],
    ['a short name', contact({ name: ' A ' }), 400, 'Name must be at least 2 characters long.'],
    ['a name with brackets', contact({ name: 'Ada {x}' }), 400, /Name contains invalid special/],
    ['a long company', contact({ company: 'x'.repeat(201) }), 400, /Company is too long/],
    ['a control character', contact({ company: 'a\u0007b' }), 400, /control characters/],
    ['a script', contact({ message: '<script>alert(1)</script>' }), 400, /HTML, scripts/],
    ['a query', contact({ message: 'x or 1=1' }), 400, /Invalid input detected/],
    ['no address', contact({ email: 'nobody' }), 400, 'Please enter a valid email address.'],
    ['two addresses', contact({ email: 'a,b@c.example' }), 400, 'Invalid email format detected.'],
    ['two dots', contact({ email: 'a..b@c.example' }), 400, 'Invalid email format detected.'],
    ['a throw-away address', contact({ email: 'a@mailinator.com' }), 400, /business email/],
    ['a long message', contact({ message: 'x'.repeat(2001) }), 400, /Message is too long/],
  ])('is refused: %s', async (_, body, status, words) => {
    const response = await send(body)
    expect(response.status).toBe(status)
    expect(response.error).toMatch(words)
  })

  test('is kept once, mailed once with everything escaped, and limited by address', async () => {
    const first = contact()
    for (const time of ['first', 'again']) {
      expect(await send(first), time).toMatchObject({ status: 200, data: { success: true } })
    }
    const stored = await service()
      .from('contact_submissions')
      .select('name, company, email, message')
      .eq('id', first.record.id)
    expect(stored.data).toEqual([
      {
        name: 'Ada Lovelace',
        company: 'Harbour Row FC',
        email: 'ada@club.example',
        message: 'Two lines,\n<b>one & bold</b>',
      },
    ])
    const mails = await mailsAbout(first.record.id)
    expect(mails).toHaveLength(1)
    expect(mails[0]?.Text).toContain('<b>one & bold</b>')
    expect(mails[0]?.HTML).toContain('&lt;b&gt;one &amp; bold&lt;/b&gt;')
    expect(mails[0]?.Subject).toBe('Contact request: Ada Lovelace, Harbour Row FC')

    const application = {
      id: randomUUID(),
      name: "Grace O'Hopper",
      email: 'grace@sea.example',
      message: null,
      job_role_id: null,
      job_role_title: null,
      user_id: randomUUID(),
    }
    const applied = { record: application, csrf_token: csrfToken(), type: 'job_application' }
    expect(await send(applied)).toMatchObject({ status: 200 })
    const row = await service()
      .from('job_applications')
      .select('name, user_id')
      .eq('id', application.id)
    expect(row.data).toEqual([{ name: "Grace O'Hopper", user_id: null }])

    let last = await send(contact())
    for (let more = 0; more < 5 && last.status === 200; more++) last = await send(contact())
    expect(last.status).toBe(429)
    expect(last.error).toMatch(/Too many attempts. Please wait \d+ minutes/)
  })
})

interface Mail {
  ID: string
  Subject: string
  Text: string
  HTML: string
}

/** Returns the mails with the reference of a lead, as soon as there is one. */
async function mailsAbout(id: string): Promise<Mail[]> {
  const inbox = `${own?.inboxUrl ?? ''}/api/v1`
  for (;;) {
    const { messages } = (await (await fetch(`${inbox}/messages`)).json()) as { messages: Mail[] }
    const mails = await Promise.all(
      messages.map(
        async ({ ID }) => (await (await fetch(`${inbox}/message/${ID}`)).json()) as Mail,
      ),
    )
    const found = mails.filter(({ Text }) => Text.includes(id))
    if (found.length > 0) return found
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
