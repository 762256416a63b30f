// The mail to the team about a lead, and its way there.

import { callAsService } from '../_shared/backend.ts'
import type { Lead, LeadType } from './validate.ts'

const TIMEOUT = 15_000
const BATCH = 10

/** A mail that is due, as the database hands it out. */
interface QueuedMail {
  lead_id: string
  type: LeadType
  record: Lead
  recipient: string | null
}

/** A message in two forms. */
interface Message {
  subject: string
  text: string
  html: string
}

const TITLES: Record<LeadType, string> = {
  contact_submission: 'Contact request',
  job_application: 'Job application',
}

function escape(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  }
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
}

/** Returns one line for a header: whatever ends a line would begin another header. */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').trim()
}

/** Returns the mail about a record. All that visitors wrote is text, in both parts. */
function compose(type: LeadType, record: Lead): Message {
  const rows: [string, string][] = [
    ['Name', record.name],
    ['Company', record.company ?? ''],
    ['Email', record.email],
    ['Position', record.job_role_title ?? ''],
    ['Message', record.message ?? ''],
    ['Reference', record.id],
  ]
  const filled = rows.filter(([, value]) => value !== '')
  const subject = oneLine(
    `${TITLES[type]}: ${record.name}${record.company ? `, ${record.company}` : ''}`,
  )
  const cells = filled.map(
    ([label, value]) =>
      `<tr><th align="left" valign="top">${label}</th><td>${escape(value).replaceAll('\n', '<br>')}</td></tr>`,
  )
  return {
    subject,
    text: filled.map(([label, value]) => `${label}: ${value}`).join('\n'),
    html: `<!doctype html><html><body><h1>${TITLES[type]}</h1><table cellpadding="6">${cells.join('')}</table></body></html>`,
  }
}

/** Hands a mail to the service that MAIL_URL names. Throws with the reason if it does not take it. */
async function send({ lead_id: id, type, record, recipient }: QueuedMail): Promise<void> {
  const [url, key] = [Deno.env.get('MAIL_URL'), Deno.env.get('MAIL_KEY')]
  if (!url || !key) throw new Error('MAIL_URL and MAIL_KEY are not set')
  const to = Deno.env.get('MAIL_TO') ?? recipient
  if (!to) throw new Error('neither MAIL_TO nor the setting contact_email names the team')
  const from = Deno.env.get('MAIL_FROM') ?? to
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': id,
    },
    body: JSON.stringify({ from, to: [to], reply_to: record.email, ...compose(type, record) }),
    signal: AbortSignal.timeout(TIMEOUT),
  })
  const text = await response.text()
  if (!response.ok)
    throw new Error(`the mail service responded with ${response.status}: ${text.slice(0, 200)}`)
}

/** Sends the mails that are due. What fails stays in the queue for a later time. */
export async function deliver(): Promise<void> {
  for (;;) {
    const due = await callAsService<QueuedMail[]>('claim_lead_mails', { most: BATCH })
    for (const mail of due) {
      const error = await send(mail).then(
        () => null,
        (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
      )
      if (error !== null) console.warn(`The mail about ${mail.lead_id} stays queued: ${error}`)
      await callAsService('finish_lead_mail', { lead_id: mail.lead_id, error })
    }
    if (due.length < BATCH) return
  }
}
