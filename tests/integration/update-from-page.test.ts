/** `basalt update` from a page of releases, as GitHub has it, over plain HTTP: what is installed, and what is refused. */
import { once } from 'node:events'
import { appendFile, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { freePort } from '../../bench/lib/ports.mjs'
import { built, Installation } from '../support/installation.ts'
import { Publisher, withVersion } from '../support/release.mjs'

/** What a manifest says. */
interface Manifest {
  version: string
  archives: { target: string; file: string; sha256: string }[]
}

/** The newest release of the page. */
const NEWEST = '0.2.0'

/** Serves the folders of releases in `folder`. It redirects to its files, as GitHub does. */
async function serve(folder: string): Promise<Server> {
  const page = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://page')
    const [, place, file = ''] = /^\/releases\/(.+)\/([^/]+)$/.exec(pathname) ?? []
    const release = place === 'latest/download' ? `v${NEWEST}` : place?.replace('download/', '')
    if (release !== undefined) {
      response.writeHead(302, { location: `/files/${release}/${file}` }).end()
      return
    }
    readFile(path.join(folder, pathname.replace('/files/', ''))).then(
      (bytes) => {
        // One release is cut off.
        const isCut = pathname.includes('/v0.8.0/') && pathname.endsWith('.gz')
        response.writeHead(200, { 'content-length': bytes.length + (isCut ? 1 : 0) })
        if (isCut) response.write(bytes, () => response.destroy())
        else response.end(bytes)
      },
      () => response.writeHead(404).end(),
    )
  })
  await once(page.listen(0, '127.0.0.1'), 'listening')
  return page
}

describe.skipIf(inject('own') === null)('an update from a page', { timeout: 120_000 }, () => {
  const publisher = new Publisher()
  let installation: Installation
  let releases: string
  let page: Server
  let url: string
  let own: string

  const update = (...words: string[]) => installation.update(...words)
  const refusal = (...words: string[]) => installation.refusal(...words)
  const version = async () => (await installation.version()).replace('basalt ', '')
  const release = (name: string) => path.join(releases, `v${name}`)

  /** Makes a release whose manifest, which is signed, is changed. */
  const changed = async (name: string, change: (manifest: Manifest) => void) => {
    await publisher.release(release(name), name, 'a program')
    const file = path.join(release(name), 'release.json')
    const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest
    change(manifest)
    const bytes = Buffer.from(JSON.stringify(manifest))
    await writeFile(file, bytes)
    await writeFile(`${file}.minisig`, publisher.sign(bytes))
  }

  beforeAll(async () => {
    installation = await Installation.create(publisher.key, '')
    own = await version()
    releases = path.join(installation.folder, 'releases')
    await mkdir(releases)
    const bytes = await readFile(built)
    for (const name of [NEWEST, '0.0.9']) {
      await publisher.release(release(name), name, withVersion(bytes, own, name))
    }
    await cp(release(NEWEST), release('0.3.0'), { recursive: true })
    await appendFile(await publisher.release(release('0.4.0'), '0.4.0', 'a program'), 'more')
    await changed('0.5.0', ({ archives }) => {
      for (const archive of archives) archive.target = 'another-machine'
    })
    await changed('0.6.0', ({ archives }) => {
      for (const archive of archives) archive.file = `../v0.4.0/${archive.file}`
    })
    await changed('0.7.0', (manifest) => {
      manifest.archives.push({ target: 'x'.repeat(2 ** 20), file: 'x', sha256: 'x' })
    })
    await publisher.release(release('0.8.0'), '0.8.0', 'a program')
    await new Publisher().release(release('0.9.0'), '0.9.0', 'a program')
    page = await serve(releases)
    url = `http://127.0.0.1:${String((page.address() as AddressInfo).port)}/releases`
  })
  afterAll(async () => {
    page.close()
    await installation.remove()
  })

  test('the newest release can be installed, and any other that is named', async () => {
    const check = (...words: string[]) => update('--check', '--from', url, ...words)
    expect(await check()).toContain('Basalt 0.2.0 can be installed; this is')
    expect(await check('--to', '0.0.9')).toContain('Basalt 0.0.9 can be installed; this is')
    // The form of a tag.
    expect(await check('--to', 'v0.0.9')).toContain('Basalt 0.0.9 can be installed; this is')
    expect(await version()).toBe(own)
  })

  test.each([
    ['0.3.0', /there is no release 0\.3\.0, but 0\.2\.0/],
    ['0.4.0', /was refused: basalt-0\.4\.0-.* has the digest/],
    ['0.5.0', /release 0\.5\.0 has no archive for/],
    ['0.6.0', /was refused: "\.\.\/v0\.4\.0\/.*" is no name of a file/],
    ['0.7.0', /release\.json of the release at .* cannot be read: it has more than 1048576 bytes/],
    ['0.8.0', /basalt-0\.8\.0-.* of the release at .* cannot be read/],
    ['0.9.0', /was refused: release\.json is not signed with the publisher's key/],
    ['1.0.0', /release\.json of the release at .* cannot be read: .*404/],
    ['v0.2', /expected a version such as 1\.2\.3, found "v0\.2"/],
  ])('release %s is refused', async (name, message) => {
    expect(await refusal('--from', url, '--to', name)).toMatch(message)
    expect(await version()).toBe(own)
    await expect(stat(`${installation.program}.new`)).rejects.toThrow('ENOENT')
  })

  test('a page that is away changes nothing', async () => {
    const away = `http://127.0.0.1:${String(await freePort())}/releases`
    expect(await refusal('--from', away)).toContain(
      `release.json of the release at ${away} cannot be read`,
    )
    expect(await refusal('--from', 'ftp://127.0.0.1/releases')).toContain('not read over ftp')
    expect(await version()).toBe(own)
  })

  test('the program afterwards is the one that was asked for, also an older one', async () => {
    const printed = await update('--from', `${url}/`, '--to', '0.0.9')
    expect(printed).toContain('is Basalt 0.0.9. The program before it is kept')
    expect(await version()).toBe('0.0.9')
    expect(await update('--from', url, '--to', '0.0.9')).toContain('Nothing to do')

    await update('--from', url)
    expect(await version()).toBe(NEWEST)
    // An older one is installed only if it is named.
    const older = await update('--from', release('0.0.9'))
    expect(older).toContain('Nothing to do: this is Basalt 0.2.0, and the release is 0.0.9')
    expect(await version()).toBe(NEWEST)
  })

  test('a folder has other releases, too', async () => {
    await update('--from', releases, '--to', '0.0.9')
    expect(await version()).toBe('0.0.9')
    await update('--back')
    expect(await version()).toBe(NEWEST)
  })

  test('where there is no database yet, none is made for a restore point', async () => {
    Object.assign(installation.env, {
      BASALT_BACKUP_TARGET: path.join(installation.folder, 'backups'),
      BASALT_BACKUP_PASSPHRASE: 'a passphrase of some length',
    })
    const printed = await update('--from', releases, '--to', '0.0.9')
    expect(printed).toContain('is Basalt 0.0.9')
    expect(printed).not.toContain('restore point')
    await expect(stat(path.join(installation.project, '.basalt/postgres'))).rejects.toThrow(
      'ENOENT',
    )
  })
})
