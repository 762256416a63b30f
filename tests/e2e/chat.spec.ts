import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { open, settle } from './support.ts'

/** Asks in the open chat; returns the reply. */
async function ask(page: Page, question: string) {
  const messages = page.getByRole('log', { name: 'Messages' })
  const replies = messages.locator('time')
  const before = await replies.count()
  await page.getByPlaceholder('Type your message...').fill(question)
  await page.keyboard.press('Enter')
  await expect(replies).toHaveCount(before + 2)
  return messages
    .locator(':scope > div')
    .filter({ has: page.locator('time') })
    .last()
}

/** Questions, what their replies say, what they do not say, and the pages that they come from. */
const QUESTIONS: [question: string, says: RegExp[], saysNot: RegExp[], links: string[]][] = [
  [
    'how much money',
    [/no amount/, /fixed sum every year/, /There is no licence fee/],
    [],
    ['/#faq', '/#faq'],
  ],
  [
    'Who founded Terrace?',
    [/Eleanor Vasske/, /Rafael Quintaneiro/],
    [/Gustav/, /Kenji/],
    ['/about'],
  ],
  ['who are your investors', [/Gustav Reinholm/, /Kenji Aldersey/], [/Eleanor/], ['/about']],
  ['Who runs Terrace?', [/Eleanor Vasske/, /Rafael/], [/Gustav/, /Marisol Akande/], ['/about']],
  ['Who is your CTO?', [/Chief Technology Officer/], [/Eleanor/, /Gustav/], ['/about']],
  ['Who is Marisol Akande?', [/Club adviser/], [/Eleanor/], ['/#testimonials']],
  ['When was it founded?', [/no date of foundation/, /2023 Q4/], [/2026/], ['/about']],
  ['when do you launch', [/2027 Q1: First public launch/], [/2023/], ['/about']],
  ['when can we go live?', [/Sixteen weeks/], [/2027/], ['/#faq']],
  [
    'Which clubs do you work with?',
    [/no list of the clubs/, /Founding partners sign/],
    [],
    ['/about', '/#contact'],
  ],
  ['jobs for designers', [/Brand and Interface Designer/], [/Senior Mobile/], ['/careers#jobs']],
  [
    'Do you have jobs for lawyers?',
    [/no open position for that/, /Trust and Safety Lead/],
    [],
    ['/careers#jobs'],
  ],
  ['Was kostet das?', [/Diese Seite ist auf Englisch/, /no licence fee/], [], ['/#faq']],
  [
    'Wer hat Terrace gegründet?',
    [/Diese Seite ist auf Englisch/, /Eleanor Vasske/],
    [/Gustav/],
    ['/about'],
  ],
  ['Wie wird das Wetter morgen?', [/Das weiß ich leider nicht/], [], ['/#contact']],
  ['What is the weather tomorrow?', [/I do not know that/], [], ['/#contact']],
]

test('the chat answers from the rows of the site, or says that it cannot', async ({
  page,
  server,
}) => {
  test.slow()
  await settle(page)
  await open(page, `${server.access.url}/imprint`)
  await page.getByRole('button', { name: /^Open chat/ }).click()
  await expect(page.getByRole('list', { name: 'Suggested questions' })).toBeVisible()
  for (const [question, says, saysNot, links] of QUESTIONS) {
    const reply = await ask(page, question)
    for (const text of says) await expect(reply).toContainText(text)
    for (const text of saysNot) await expect(reply).not.toContainText(text)
    const paths = await reply
      .getByRole('link')
      .evaluateAll((found) => found.map((link) => link.getAttribute('href')))
    expect(paths, question).toEqual(links)
  }
})

test('the chat knows what the rows say now', async ({ page, server }) => {
  await settle(page)
  await open(page, `${server.access.url}/imprint`)
  await page.getByRole('button', { name: /^Open chat/ }).click()
  await expect(page.getByRole('list', { name: 'Suggested questions' })).toBeVisible()
  const opening = "where title = 'Brand and Interface Designer'"
  await server.psql(`update job_openings set is_active = false ${opening}`)
  try {
    const reply = await ask(page, 'jobs for designers')
    await expect(reply).toContainText('I find no open position for that.')
    await expect(reply).not.toContainText('Brand and Interface Designer')
  } finally {
    await server.psql(`update job_openings set is_active = true ${opening}`)
  }
})

test('a source is a link with its title, which leads there', async ({ page, server }) => {
  await page.setViewportSize({ width: 360, height: 740 })
  await settle(page)
  await open(page, `${server.access.url}/imprint`)
  await page.getByRole('button', { name: /^Open chat/ }).click()
  await expect(page.getByRole('list', { name: 'Suggested questions' })).toBeVisible()
  const reply = await ask(page, 'Is there a licence fee?')
  await reply.getByRole('link', { name: 'FAQ: What does it cost us to launch?' }).click()
  await expect(page).toHaveURL(`${server.access.url}/#faq`)
  // It would cover the page on a phone.
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await expect(page.locator('#faq')).toBeInViewport()
})
