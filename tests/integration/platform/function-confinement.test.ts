// What those who deploy functions and set their variables learn of the server's machine: nothing.

import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { tree } from '../../../bench/lib/processes.mjs'
import { Platform, startServer, type Refusal } from './support.ts'

/** What is in a file beside the deployments. It is no TypeScript, so that a message would show it. */
const SECRET = '*:*:*:admin:6d0f3b1c'

const index = (slug: string) => `supabase/functions/${slug}/index.ts`

describe.skipIf(inject('own') === null)('somebody who deploys functions', () => {
  let platform: Platform
  let outside: string

  beforeAll(async () => {
    // A folder named as people name it at a prompt.
    const folder = await mkdtemp(path.join(tmpdir(), 'basalt-relative-'))
    const dataDir = `${path.relative(process.cwd(), folder)}/../${path.basename(folder)}/data`
    platform = await Platform.of(await startServer({ dataDir }))
    outside = path.resolve(dataDir, 'outside.ts')
    await writeFile(outside, SECRET)
    await writeFile(
      path.resolve(dataDir, 'outside.json'),
      '{ "imports": { "secret": "./6d0f3b1c" } }',
    )
  })

  const refused = async (slug: string, files: Record<string, string>, metadata: object = {}) => {
    const { status, body } = await platform.deploy<Refusal>(slug, files, { metadata })
    expect({ slug, status, body }).toMatchObject({ status: 400 })
    expect(body.message).not.toContain('6d0f3b1c')
    expect(await platform.listed(slug)).toBeUndefined()
    return body.message
  }

  test('is served from a data folder with a relative path', async () => {
    const text = "Deno.serve(() => new Response('here'))"
    expect(await platform.deploy('here', text)).toMatchObject({ status: 201 })
    expect(await platform.call('here')).toEqual({ status: 200, text: 'here' })
  })

  // From functions/SLUG/VERSION/source/supabase/functions/SLUG to the data folder.
  const up = '../'.repeat(7)

  test.each([
    ['imports it', () => `import '${up}outside.ts'`],
    ['imports it by its place', () => `import '${outside}'`],
    ['imports its types', () => `import type { T } from '${up}outside.ts'; export const t: T = 1`],
    ['exports from it', () => `export * from '${up}outside.ts'`],
    ['imports it later', () => `await import('${up}outside.ts')`],
    [
      'refers to it',
      () => `/// <reference path="${up}outside.ts" />\nDeno.serve(() => new Response())`,
    ],
    ['hides the way', () => `import './${'..%2f'.repeat(7)}outside.ts'`],
    [
      'comes from a module without a place',
      () => {
        const text = encodeURIComponent(`import "file://${outside}"`)
        return `import 'data:application/javascript,${text}'`
      },
    ],
    ['imports it as JSON', () => `import x from '${up}outside.json' with { type: 'json' }`],
    ['imports a file that is not there', () => `import '${up}absent.ts'`],
  ])('reads no other file, if a function %s', async (_, source) => {
    const message = await refused('reader', { [index('reader')]: source() })
    expect(message).toContain('which is not among the files of the function')
  })

  test('reads no other file through an import map or a configuration', async () => {
    const source = "import 'secret'\nDeno.serve(() => new Response())"
    const configuration = (text: object) => ({
      [index('mapped')]: source,
      'supabase/functions/mapped/deno.json': JSON.stringify(text),
    })
    const map = { import_map_path: 'supabase/functions/mapped/deno.json' }
    const own = configuration({ imports: { secret: `${up}outside.ts` } })
    expect(await refused('mapped', own, map)).toContain('index.ts imports "secret"')
    await refused('mapped', configuration({ importMap: `${up}outside.json` }), map)
    await refused('mapped', configuration({ importMap: `${up}outside.ts` }), map)
    await refused('mapped', configuration({ workspace: [up], imports: {} }), map)
    await refused('mapped', { [index('mapped')]: source }, { import_map_path: `${up}outside.json` })
  })

  test('sets variables that only the function sees, not the program that runs it', async () => {
    const names = [
      'DENO_DIR',
      'DENO_V8_FLAGS',
      'LD_LIBRARY_PATH',
      'LD_PRELOAD',
      'NODE_OPTIONS',
      'PATH',
      'TEXT',
    ]
    const value = 'sesame\nö "quoted"'.repeat(1000)
    const json = names.map((name) => ({ name, value }))
    expect((await platform.project('POST', '/secrets', { json })).status).toBe(201)
    const source = `
      const names = ${JSON.stringify(names)}
      Deno.serve(() => Response.json(names.filter((name) => Deno.env.get(name) !== ${JSON.stringify(value)})))`
    expect(await platform.deploy('seeing', source)).toMatchObject({ status: 201 })
    expect(await platform.call('seeing')).toEqual({ status: 200, text: '[]' })
    const [, ...children] = tree(platform.server.process.pid ?? 0)
    const started = await Promise.all(
      children.map((pid) => readFile(`/proc/${String(pid)}/environ`, 'utf8').catch(() => '')),
    )
    expect(started.some((variables) => variables.includes('DENO_NO_UPDATE_CHECK'))).toBe(true)
    expect(started.filter((variables) => variables.includes('sesame'))).toEqual([])
    expect((await platform.project('DELETE', '/secrets', { json: names })).status).toBe(200)
  })
})
