// What deployed functions import from the registries of npm and JSR stays as it was when they were deployed.

import { rm } from 'node:fs/promises'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { Registry } from '../../support/registry.mjs'
import { Server } from '../../support/server.mjs'
import { Platform, startServer, type Refusal } from './support.ts'

/** A function that greets with a package, which it imports by this name. */
const greeting = (specifier: string) => `
  import { greet } from '${specifier}'
  Deno.serve(() => new Response(greet('Ada')))`

/** The functions, and what they import. */
const IMPORTS = {
  'of-npm': 'npm:@basalt/greeting@^1.2',
  'of-jsr': 'jsr:@basalt/greeting@^1.2',
}

const names = Object.keys(IMPORTS)

describe.skipIf(inject('own') === null)('what deployed functions import', () => {
  let registry: Registry
  let platform: Platform

  const env = () => ({ JSR_URL: registry.url, NPM_CONFIG_REGISTRY: registry.url })

  beforeAll(async () => {
    registry = await Registry.start()
    platform = await Platform.of(await startServer({ env: env() }))
    for (const [slug, specifier] of Object.entries(IMPORTS)) {
      const { status, body } = await platform.deploy(slug, greeting(specifier))
      expect({ status, body }).toMatchObject({ status: 201, body: { version: 1 } })
    }
  })

  afterAll(() => {
    registry.stop()
  })

  /** Starts the server anew on a machine that has downloaded nothing. */
  async function restart() {
    const { server } = platform
    const { dataDir, project } = server
    await server.stop({ keepData: true })
    await rm(path.join(dataDir, 'deno'), { recursive: true })
    platform = await Platform.of(
      await Server.start({ project, dataDir, folders: [project], env: env(), keepsLog: true }),
    )
  }

  test.each(names)('is there: %s', async (slug) => {
    expect(await platform.call(slug)).toEqual({ status: 200, text: 'good day Ada' })
  })

  test('needs no registry for the types of the hosted runtime, which each new function imports', async () => {
    // As `supabase functions new` writes it.
    const files = {
      'supabase/functions/typed/index.ts': `
        import "@supabase/functions-js/edge-runtime.d.ts"
        Deno.serve(() => new Response('typed'))`,
      'supabase/functions/typed/deno.json': JSON.stringify({
        imports: { '@supabase/functions-js': 'jsr:@supabase/functions-js@^2' },
      }),
    }
    const metadata = { import_map_path: 'supabase/functions/typed/deno.json' }
    const { status, body } = await platform.deploy('typed', files, { metadata })
    expect({ status, body }).toMatchObject({ status: 201 })
    expect(await platform.call('typed')).toEqual({ status: 200, text: 'typed' })
    expect((await platform.project('DELETE', '/functions/typed')).status).toBe(200)
  })

  test('is of the same version after a restart, whatever is newer', async () => {
    await registry.publish('1.3.0', 'good evening')
    await restart()
    for (const slug of names)
      expect(await platform.call(slug)).toEqual({ status: 200, text: 'good day Ada' })
    // One that is deployed now gets what is newer.
    const { status } = await platform.deploy('newer', greeting(IMPORTS['of-jsr']))
    expect(status).toBe(201)
    expect(await platform.call('newer')).toEqual({ status: 200, text: 'good evening Ada' })
  })

  test('is not run if somebody has changed that version in the registry', async () => {
    await registry.publish('1.2.3', 'give me your secrets')
    await restart()
    for (const slug of names) {
      const { status, text } = await platform.call(slug)
      expect({ status, text }).toMatchObject({ status: 503 })
      expect(text).toContain('BOOT_ERROR')
    }
    const said = () => platform.server.log
    await expect.poll(said).toMatch(/Tarball checksum did not match/)
    await expect.poll(said).toMatch(/Integrity check failed for package/)
    expect(await platform.call('newer')).toEqual({ status: 200, text: 'good evening Ada' })
  })

  test('is refused if no registry has it', async () => {
    for (const specifier of ['npm:@basalt/greeting@^9', 'jsr:@basalt/nothing']) {
      const { status, body } = await platform.deploy<Refusal>('lost', greeting(specifier))
      expect(status).toBe(400)
      expect(body.message).toContain('@basalt/')
    }
    expect(await platform.listed('lost')).toBeUndefined()
  })
})
