import { randomUUID } from 'node:crypto'

import { CopyObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { Page } from '@playwright/test'

import { connect, type Client } from '../support/client.ts'
import type { Server } from '../support/server.mjs'
import { expect, test } from './fixtures.ts'
import { open, settle } from './support.ts'

/** Types of which a browser makes a document, or could. */
const TYPES = [
  'image/png;a=b, image/svg+xml',
  'image/svg+xml, */*',
  'image/png, text/html',
  'image/png;a=", image/svg+xml"',
  'image/svg+xml',
  'IMAGE/SVG+XML; charset=utf-8',
  'text/html',
  'Text/HTML;charset=utf-8',
  'text/html\t',
  ' text/html',
  'text/html;a',
  'application/xhtml+xml',
  'text/xml',
  'multipart/x-mixed-replace; boundary=a',
  '',
]

/** Tells that it has run, whatever it runs in; a policy may keep it from asking the server. */
const SCRIPT = `console.info('has run'); fetch('/has-run')`
/** A document that runs its script as SVG, XHTML, XML and HTML. */
const DOCUMENT = `<svg xmlns="http://www.w3.org/2000/svg"><script>${SCRIPT}</script></svg>`

const bucket = `attacks-${randomUUID()}`

/** The ways into storage and out of it, as the service. */
class Doors {
  readonly #server: Server
  readonly #s3: S3Client
  readonly #client: Client

  static async open(server: Server) {
    const status = await server.status()
    const credentials = {
      accessKeyId: status.S3_PROTOCOL_ACCESS_KEY_ID ?? '',
      secretAccessKey: status.S3_PROTOCOL_ACCESS_KEY_SECRET ?? '',
    }
    const region = status.S3_PROTOCOL_REGION ?? 'local'
    const endpoint = `${server.access.url}/storage/v1/s3`
    return new Doors(
      server,
      new S3Client({ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 }),
    )
  }

  private constructor(server: Server, s3: S3Client) {
    this.#server = server
    this.#s3 = s3
    this.#client = connect(server.access.url, server.access.serviceKey)
  }

  get files() {
    return this.#client.storage.from(bucket)
  }

  #send(path: string, body: BodyInit, headers: Record<string, string>, method = 'POST') {
    const authorization = `Bearer ${this.#server.access.serviceKey}`
    const url = `${this.#server.access.url}/storage/v1/${path}`
    return fetch(url, { method, body, headers: { authorization, ...headers } })
  }

  /** Brings `body` in as `type` through each door, and returns the names of what was let in. */
  async store(body: string, type: string): Promise<string[]> {
    const id = randomUUID()
    const name = (door: string) => `${id}/${door}`
    const form = new FormData()
    form.append('contentType', type)
    form.append('', new Blob([body]), 'a')
    await this.files.upload(name('original'), body, { contentType: 'image/png' })
    const { data: signed } = await this.files.createSignedUploadUrl(name('signed'))
    const encode = (text: string) => Buffer.from(text).toString('base64')
    const fields = { bucketName: bucket, objectName: name('tus'), contentType: type }
    const copied = { bucketId: bucket, sourceKey: name('original'), destinationKey: name('copied') }
    const target = (door: string) => ({ Bucket: bucket, Key: name(door) })
    const source = `${bucket}/${name('original')}`
    const doors: Record<string, () => Promise<unknown>> = {
      raw: async () => {
        const answer = await this.#send(`object/${bucket}/${name('raw')}`, body, {
          'content-type': type,
        })
        if (!answer.ok) throw new Error(await answer.text())
      },
      form: () => this.#send(`object/${bucket}/${name('form')}`, form, {}),
      signed: () =>
        this.#send(
          `object/upload/sign/${bucket}/${name('signed')}?token=${String(signed?.token)}`,
          body,
          { 'content-type': type },
          'PUT',
        ),
      tus: () =>
        this.#send('upload/resumable', body, {
          'tus-resumable': '1.0.0',
          'upload-length': String(body.length),
          'upload-metadata': Object.entries(fields)
            .map(([field, value]) => `${field} ${encode(value)}`)
            .join(','),
          'content-type': 'application/offset+octet-stream',
        }),
      copied: () =>
        this.#send(
          'object/copy',
          JSON.stringify({ ...copied, copyMetadata: false, metadata: { mimetype: type } }),
          { 'content-type': 'application/json' },
        ),
      s3: () =>
        this.#s3.send(new PutObjectCommand({ ...target('s3'), Body: body, ContentType: type })),
      's3-copied': () =>
        this.#s3.send(
          new CopyObjectCommand({
            ...target('s3-copied'),
            CopySource: source,
            MetadataDirective: 'REPLACE',
            ContentType: type,
          }),
        ),
    }
    for (const enter of Object.values(doors)) await enter().catch(() => undefined)
    const { data: listed } = await this.files.list(id)
    return (listed ?? []).map((entry) => name(entry.name))
  }

  /** Returns the other URLs at which a browser can open object `name`; `type` is what a presigned one asks for. */
  async urls(name: string, type: string): Promise<string[]> {
    const { data: signed } = await this.files.createSignedUrl(name, 600)
    const read = { Bucket: bucket, Key: name }
    const requested = new GetObjectCommand({ ...read, ...(type && { ResponseContentType: type }) })
    return [
      String(signed?.signedUrl),
      await getSignedUrl(this.#s3, new GetObjectCommand(read)),
      await getSignedUrl(this.#s3, requested),
    ]
  }
}

/** Records the places in which a script has run. */
function watch(page: Page) {
  const seen: string[] = []
  page.context().on('console', (message) => {
    if (message.text() === 'has run') seen.push(message.location().url)
  })
  page.context().on('request', (request) => {
    if (new URL(request.url()).pathname === '/has-run') seen.push(request.url())
  })
  return seen
}

test.beforeAll(async ({ server }) => {
  const { storage } = connect(server.access.url, server.access.serviceKey)
  expect((await storage.createBucket(bucket, { public: true })).error).toBeNull()
})

test('no object that is opened as a page runs a script', async ({ page, server }) => {
  test.setTimeout(300_000)
  const doors = await Doors.open(server)
  const seen = watch(page)
  await page.setContent(`<script>${SCRIPT}</script>`)
  await expect.poll(() => seen.splice(0)).not.toEqual([])
  for (const type of TYPES) {
    const names = await doors.store(DOCUMENT, type)
    expect(names.length, `ways in for ${JSON.stringify(type)}`).toBeGreaterThan(4)
    const urls = names.map((name) => doors.files.getPublicUrl(name).data.publicUrl)
    urls.push(...(await doors.urls(String(names[0]), type)))
    for (const url of urls) {
      // What is not shown is a download, which ends the navigation; an endless answer ends with the time limit.
      await page.goto(url, { timeout: 5_000 }).catch(() => undefined)
      expect(seen, `${JSON.stringify(type)} at ${url}`).toEqual([])
    }
  }
})

test('no object is a script or a style of a page of the site', async ({ page, server }) => {
  const doors = await Doors.open(server)
  const seen = watch(page)
  await settle(page)
  await open(page, server.access.url)
  const urls: string[] = []
  for (const type of [
    'text/javascript',
    'application/javascript',
    'text/css',
    'image/png, text/javascript',
  ])
    for (const name of await doors.store(`${SCRIPT} //{}`, type))
      urls.push(doors.files.getPublicUrl(name).data.publicUrl)
  // A path that looks like that of the site's own files.
  await doors.files.upload('assets/a.js', SCRIPT, { contentType: 'text/javascript' })
  const { publicUrl } = doors.files.getPublicUrl('assets/a.js').data
  urls.push(publicUrl, publicUrl.replace('/storage/', '/assets/..%2fstorage/'))
  const outcomes = await page.evaluate(async (urls) => {
    const load = (tag: 'script' | 'link', attributes: Record<string, string>) =>
      new Promise<string>((resolve) => {
        const element = document.createElement(tag)
        element.onload = () => resolve('loaded')
        element.onerror = () => resolve('refused')
        for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
        document.head.append(element)
      })
    const start = (url: string) =>
      new Promise<string>((resolve) => {
        try {
          const worker = new Worker(url)
          worker.onmessage = () => resolve('loaded')
          worker.onerror = () => resolve('refused')
        } catch {
          resolve('refused')
        }
      })
    const all = urls.flatMap((url) => [
      load('script', { src: url }),
      load('script', { src: url, type: 'module' }),
      load('link', { rel: 'stylesheet', href: url }),
      import(url).then(
        () => 'loaded',
        () => 'refused',
      ),
      start(url),
    ])
    return await Promise.all(all)
  }, urls)
  expect(new Set(outcomes)).toEqual(new Set(['refused']))
  expect(seen).toEqual([])
})

test('pictures are shown on pages of other origins, and pages are saved', async ({
  page,
  server,
  club,
}) => {
  const doors = await Doors.open(server)
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"/>`
  await doors.files.upload('logo.svg', picture, { contentType: 'image/svg+xml' })
  await doors.files.upload('page.html', '<b>a</b>', { contentType: 'text/html' })
  await page.goto(`${club.origin}/pkce`)
  const width = await page.evaluate(async (url) => {
    const image = new Image()
    image.src = url
    await image.decode()
    return image.naturalWidth
  }, doors.files.getPublicUrl('logo.svg').data.publicUrl)
  expect(width).toBe(7)
  const url = doors.files.getPublicUrl('page.html', { download: 'page.html' }).data.publicUrl
  const saved = page.waitForEvent('download')
  await page.evaluate((url) => window.location.assign(url), url)
  expect((await saved).suggestedFilename()).toBe('page.html')
})
