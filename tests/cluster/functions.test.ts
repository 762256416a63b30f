/** Functions of two nodes: their schedules, and their mails. */
import { setTimeout as pause } from 'node:timers/promises'

import { expect, inject, test } from 'vitest'

import { Inbox } from '../support/inbox.ts'
import { service } from '../support/notes.ts'
import { sql, unique } from './clients.ts'

const { one, two, inboxes } = inject('cluster')

/** Seconds between two calls, as the project's settings have it. */
const INTERVAL = 2

test('a schedule calls its function once when it is due, whichever node does', async () => {
  const calls = 'select extract(epoch from at)::float8 as at from public.ticks order by at'
  await expect.poll(() => sql(calls), { timeout: 30_000 }).not.toHaveLength(0)
  const before = (await sql(calls)).length
  await pause(INTERVAL * 10_000)
  const times = (await sql(calls)).slice(before - 1).map(({ at }) => Number(at))
  expect(times.length).toBeGreaterThanOrEqual(8)
  expect(times.length).toBeLessThanOrEqual(12)
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThan(INTERVAL * 0.5)
})

test('a function sends its mail once, at whichever node it runs', async () => {
  for (const access of [one, two]) {
    const to = `${unique('reader')}@example.com`
    const called: { error: Error | null } = await service(access).functions.invoke('mail', {
      body: { to, subject: 'hello' },
    })
    expect(called.error).toBeNull()
    const kept = await Promise.all(inboxes.map((url) => new Inbox(url).all(to)))
    expect(kept.flat().map(({ subject }) => subject)).toEqual(['hello'])
  }
})
