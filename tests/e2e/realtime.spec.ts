import { randomUUID } from 'node:crypto'

import type { Page } from '@playwright/test'

import type { ClubPage } from '../support/club-page.ts'
import { member, signIn } from './auth/club.ts'
import { expect, test } from './fixtures.ts'

/** The payload of a broadcast. */
type Payload = ArrayBuffer | { text: string }

/** Has the page's client join a channel as `who`, and log its broadcasts, its presence and its changes of rows. */
async function join(page: Page, name: string, who: string): Promise<void> {
  await page.evaluate(
    async ({ name, who }) => {
      const log: string[] = []
      const channel = window.club.channel(name, { config: { presence: { key: who } } })
      Object.assign(window, { log, channel })
      channel
        .on('broadcast', { event: 'shout' }, ({ payload }: { payload: Payload }) => {
          log.push(payload instanceof ArrayBuffer ? `${payload.byteLength} bytes` : payload.text)
        })
        .on('presence', { event: 'sync' }, () => {
          const present = Object.keys(channel.presenceState()).sort().join(', ')
          if (log.at(-1) !== `here: ${present}`) log.push(`here: ${present}`)
        })
        .on(
          'postgres_changes',
          { event: 'INSERT', schema: 'public', table: 'rt_tabs' },
          ({ new: row }) => {
            log.push(`row: ${String(row.body)}`)
          },
        )
      await new Promise<void>((resolve, reject) => {
        channel.on('system', {}, ({ status, message }: { status: string; message: string }) => {
          if (status === 'ok') resolve()
          else reject(new Error(message))
        })
        channel.subscribe((status, error) => {
          if ((status as string) !== 'SUBSCRIBED') reject(error ?? new Error(status))
        })
      })
      await channel.track({ since: Date.now() })
    },
    { name, who },
  )
}

/** Returns what the page has logged. */
const readLog = (page: Page) =>
  page.evaluate(() => (window as unknown as { log: string[] }).log.slice())

const shout = (page: Page, text: string) =>
  page.evaluate(async (text) => {
    const { channel } = window as unknown as { channel: ReturnType<typeof window.club.channel> }
    return channel.send({ type: 'broadcast', event: 'shout', payload: { text } })
  }, text)

/** Opens the club's page in a tab of its own. */
async function tab(opener: Page, club: ClubPage): Promise<Page> {
  const page = await opener.context().newPage()
  await page.goto(`${club.origin}/pkce`)
  return page
}

test.beforeAll(async ({ server }) => {
  await server.psql(`
    create table public.rt_tabs (id int primary key, owner uuid, body text);
    alter table public.rt_tabs enable row level security;
    create policy "one's own" on public.rt_tabs for select to authenticated using (owner = auth.uid());
    grant select on public.rt_tabs to anon, authenticated;
    alter publication supabase_realtime add table public.rt_tabs`)
})

test.afterAll(async ({ server }) => {
  await server.psql('drop table public.rt_tabs')
})

test('tabs hear each other, and see who comes and goes', async ({ page, club }) => {
  const name = `room-${randomUUID()}`
  const [ann, ben, cleo] = [page, await tab(page, club), await tab(page, club)]
  await ann.goto(`${club.origin}/pkce`)
  await join(ann, name, 'ann')
  await join(ben, name, 'ben')
  await join(cleo, name, 'cleo')
  for (const person of [ann, ben, cleo])
    await expect.poll(() => readLog(person)).toContain('here: ann, ben, cleo')

  expect(await shout(ann, 'hello ü ☃')).toBe('ok')
  for (const person of [ben, cleo]) await expect.poll(() => readLog(person)).toContain('hello ü ☃')
  expect(await shout(ben, 'hello back')).toBe('ok')
  await expect.poll(() => readLog(ann)).toContain('hello back')
  expect(await readLog(ann)).not.toContain('hello ü ☃')

  await cleo.close()
  for (const person of [ann, ben])
    await expect.poll(async () => (await readLog(person)).at(-1)).toBe('here: ann, ben')
  await ben.goto('about:blank')
  await expect.poll(async () => (await readLog(ann)).at(-1)).toBe('here: ann')
})

test('bytes go from tab to tab', async ({ page, club }) => {
  const name = `room-${randomUUID()}`
  const other = await tab(page, club)
  await page.goto(`${club.origin}/pkce`)
  await join(page, name, 'one')
  await join(other, name, 'two')
  await page.evaluate(async () => {
    const { channel } = window as unknown as { channel: ReturnType<typeof window.club.channel> }
    await channel.send({ type: 'broadcast', event: 'shout', payload: new ArrayBuffer(1000) })
  })
  await expect.poll(() => readLog(other)).toContain('1000 bytes')
})

test('a tab gets only the rows that its user may see', async ({ browser, page, server, club }) => {
  const name = `room-${randomUUID()}`
  const stranger = await (await browser.newContext()).newPage()
  const ids: string[] = []
  for (const person of [page, stranger]) {
    await person.goto(`${club.origin}/pkce`)
    await signIn(person, await member(server))
    await expect(person.getByRole('status')).toContainText('Signed in as')
    await join(person, name, 'somebody')
    ids.push(
      await person.evaluate(async () => String((await window.club.auth.getUser()).data.user?.id)),
    )
  }
  await server.psql(`
    insert into public.rt_tabs values (1, '${String(ids[0])}', 'for one'), (2, '${String(ids[1])}', 'for two')`)
  await expect.poll(() => readLog(page)).toContain('row: for one')
  await expect.poll(() => readLog(stranger)).toContain('row: for two')
  expect(await readLog(page)).not.toContain('row: for two')
  expect(await readLog(stranger)).not.toContain('row: for one')
  await stranger.context().close()
})
