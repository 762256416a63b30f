import process from 'node:process'

import { expect, test } from './fixtures.ts'

test('a killed Postgres comes back under the running server', async ({ page, server }) => {
  await page.goto(server.access.url)
  const before = await server.postgresPid()
  process.kill(before, 'SIGKILL')
  const read = async () => {
    const headers = { apikey: server.access.anonKey }
    const answer = await fetch(`${server.access.url}/rest/v1/faqs?select=id&limit=1`, { headers })
    return answer.status
  }
  await expect.poll(read, { timeout: 30_000 }).toBe(200)
  expect(await server.postgresPid()).not.toBe(before)

  await page.reload()
  await page.locator('#faq').scrollIntoViewIfNeeded()
  await expect(page.locator('#faq').getByRole('button').first()).toBeVisible()
})
