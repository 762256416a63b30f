import { randomUUID } from 'node:crypto'

import type { Page } from '@playwright/test'

import { connect } from '../support/client.ts'
import { isSignedIn, member, signIn } from './auth/club.ts'
import { expect, test } from './fixtures.ts'

/** A private bucket, in which each user has a folder that is named by the user's id. */
const bucket = `drawer-${randomUUID()}`

test.beforeAll(async ({ server }) => {
  const { storage } = connect(server.access.url, server.access.serviceKey)
  const { error } = await storage.createBucket(bucket, { public: false, fileSizeLimit: '1MB' })
  expect(error).toBeNull()
  await server.psql(
    `create policy "one's own folder" on storage.objects for all to authenticated
       using (bucket_id = '${bucket}' and (storage.foldername(name))[1] = auth.uid()::text)
       with check (bucket_id = '${bucket}' and (storage.foldername(name))[1] = auth.uid()::text)`,
  )
})

/**
 * Uploads a text to `name` in the user's folder, which no cache may keep, and returns the refusal's message, if any.
 */
function upload(page: Page, name: string, text: string): Promise<string | undefined> {
  return page.evaluate(
    async ({ bucket, name, text }) => {
      const { data } = await window.club.auth.getUser()
      const file = new File([text], 'note.txt', { type: 'text/plain' })
      const { error } = await window.club.storage
        .from(bucket)
        .upload(`${String(data.user?.id)}/${name}`, file, { cacheControl: '0' })
      return error?.message
    },
    { bucket, name, text },
  )
}

test('a file goes from the page to storage and back, across origins', async ({
  page,
  server,
  club,
}) => {
  const email = await member(server)
  await page.goto(`${club.origin}/pkce`)
  await signIn(page, email)
  expect(await upload(page, 'a note.txt', 'first')).toBeUndefined()
  expect(await upload(page, 'a note.txt', 'again')).toBe('The resource already exists')
  const results = await page.evaluate(async (bucket) => {
    const { data } = await window.club.auth.getUser()
    const folder = String(data.user?.id)
    const path = `${folder}/a note.txt`
    const files = window.club.storage.from(bucket)
    const { data: downloaded } = await files.download(path)
    const { data: listed } = await files.list(folder)
    const { data: info } = await files.info(path)
    const { data: signed } = await files.createSignedUrl(path, 60, { download: 'mine.txt' })
    const answer = await fetch(String(signed?.signedUrl), { headers: { Range: 'bytes=1-3' } })
    const { data: moved } = await files.move(path, `${folder}/moved.txt`)
    const { data: exists } = await files.exists(path)
    const { data: removed } = await files.remove([`${folder}/moved.txt`])
    return {
      text: await downloaded?.text(),
      type: downloaded?.type,
      listed: listed?.map(({ name }) => name),
      cacheControl: info?.cacheControl,
      part: await answer.text(),
      moved: moved?.message,
      exists,
      removed: removed?.length,
    }
  }, bucket)
  expect(results).toEqual({
    text: 'first',
    type: 'text/plain',
    listed: ['a note.txt'],
    cacheControl: 'max-age=0',
    part: 'irs',
    moved: 'Successfully moved',
    exists: false,
    removed: 1,
  })
})

// Only if the gateway exposes them; the one of Supabase's containers does not.
test('a page of another origin reads which part of which version it got', async ({
  page,
  server,
  club,
}) => {
  await page.goto(`${club.origin}/pkce`)
  await signIn(page, await member(server))
  expect(await upload(page, 'a part.txt', 'first')).toBeUndefined()
  const results = await page.evaluate(async (bucket) => {
    const { data } = await window.club.auth.getUser()
    const files = window.club.storage.from(bucket)
    const { data: signed } = await files.createSignedUrl(`${String(data.user?.id)}/a part.txt`, 60)
    const answer = await fetch(String(signed?.signedUrl), { headers: { Range: 'bytes=1-3' } })
    return { range: answer.headers.get('content-range'), etag: answer.headers.get('etag') }
  }, bucket)
  expect(results).toEqual({
    range: 'bytes 1-3/5',
    etag: expect.stringMatching(/^"[0-9a-f]{32}"$/) as unknown,
  })
})

test('nobody reads or fills another one’s folder', async ({ browser, page, server, club }) => {
  await page.goto(`${club.origin}/pkce`)
  await signIn(page, await member(server))
  expect(await upload(page, 'secret.txt', 'mine')).toBeUndefined()
  const path = await page.evaluate(async () => {
    const { data } = await window.club.auth.getUser()
    return `${String(data.user?.id)}/secret.txt`
  })

  const stranger = await (await browser.newContext()).newPage()
  await stranger.goto(`${club.origin}/pkce`)
  const email = await member(server)
  await signIn(stranger, email)
  await isSignedIn(stranger, email)
  const refusal = await stranger.evaluate(
    async ({ bucket, path }) => {
      const files = window.club.storage.from(bucket)
      const { error: download } = await files.download(path)
      const { error: overwrite } = await files.upload(path, 'theirs', { upsert: true })
      const { data: removed } = await files.remove([path])
      const { data: listed } = await files.list(path.split('/')[0])
      return { download: download?.name, overwrite: overwrite?.message, removed, listed }
    },
    { bucket, path },
  )
  expect(refusal).toEqual({
    download: 'StorageApiError',
    overwrite: 'new row violates row-level security policy',
    removed: [],
    listed: [],
  })
  expect(await upload(page, 'larger.txt', 'x'.repeat(1_000_001))).toBe(
    'The object exceeded the maximum allowed size',
  )
  await stranger.context().close()
})

test('a script in a file runs nothing under the API’s origin', async ({ page, server }) => {
  const { storage } = connect(server.access.url, server.access.serviceKey)
  const name = `open-${randomUUID()}`
  await storage.createBucket(name, { public: true })
  const script = `<script xmlns="http://www.w3.org/1999/xhtml">document.title = 'ran'</script>`
  const files = {
    'page.html': ['text/html', `<html><body>${script}</body></html>`],
    'picture.svg': ['image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
  }
  for (const [path, [contentType, content]] of Object.entries(files)) {
    const { error } = await storage.from(name).upload(path, String(content), { contentType })
    expect(error).toBeNull()
    await page.goto(storage.from(name).getPublicUrl(path).data.publicUrl)
    await page.waitForLoadState('networkidle')
    expect(await page.title()).not.toBe('ran')
  }
})
