import process from 'node:process'

import { expect, test } from './fixtures.ts'

test('a killed Postgres comes back under the running server', async ({ page, server }) => {
  await page.goto(server.access.url)
  const before = await server.postgresPid()
  process.kill(before, 'SIGKILL')
  // The new process first: for a moment, a session of the killed one may still answer.
  const current = () => server.postgresPid().catch(() => before)
  await expect.poll(current, { timeout: 30_000 }).not.toBe(before)
  const read = async () => {
    const headers = { apikey: server.access.anonKey }
    const answer = await fetch(`${server.access.url}/rest/v1/faqs?select=id&limit=1`, { headers })
    return answer.status
  }
  await expect.poll(read, { timeout: 30_000 }).toBe(200)

  await page.reload()
  await page.locator('#faq').scrollIntoViewIfNeeded()
  await expect(page.locator('#faq').getByRole('button').first()).toBeVisible()
})
