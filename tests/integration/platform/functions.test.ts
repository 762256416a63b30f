import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { end, track } from '../../support/programs.mjs'
import { psqlAsSuperuser, Server } from '../../support/server.mjs'
import { dial, head, write } from '../../support/raw.ts'
import { Platform, saying, type FunctionBody, type Refusal } from './support.ts'

/** How often a function is deployed under load. */
const DEPLOYMENTS = 50

describe.skipIf(inject('own') === null)('functions that are deployed to a running server', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start({
      files: {
        'functions/both/index.ts': saying('of the folder'),
        'functions/own/index.ts': saying('own'),
      },
    })
  })

  /** Deploys a function, which has to succeed. */
  async function deploy(...[slug, files, more]: Parameters<Platform['deploy']>) {
    const answer = await platform.deploy(slug, files, more)
    expect(answer).toMatchObject({ status: 201, body: { slug } })
    return answer.body
  }

  async function refused(...[slug, files, more]: Parameters<Platform['deploy']>) {
    const { status, body } = await platform.deploy<Refusal>(slug, files, more)
    expect({ slug, status, body }).toMatchObject({ status: 400 })
    return body.message
  }

  const listed = (slug: string) => platform.listed(slug)
  const text = async (slug: string) => (await platform.call(slug)).text

  test('take calls as soon as the deployment is answered', async () => {
    const first = await deploy('greet', saying('hello'))
    expect(await platform.call('greet')).toEqual({ status: 200, text: 'hello' })
    expect(first).toMatchObject({ name: 'greet', version: 1, status: 'ACTIVE', verify_jwt: true })
    const second = await deploy('greet', saying('good day'))
    expect(await text('greet')).toBe('good day')
    expect(second).toMatchObject({ id: first.id, version: 2 })
    expect(second.ezbr_sha256).not.toBe(first.ezbr_sha256)
    expect(await listed('greet')).toEqual(second)
    expect(await platform.project('GET', '/functions/greet')).toMatchObject({
      status: 200,
      body: second,
    })
  })

  test('consist of all their files: shared ones, an import map, and static ones', async () => {
    await deploy(
      'whole',
      {
        'supabase/functions/whole/index.ts': `
          import { name } from 'names'
          import { greet } from '../_shared/greet.ts'
          const text = await Deno.readTextFile(new URL('./texts/note.txt', import.meta.url))
          const later = async () => (await import('./later.ts')).later
          Deno.serve(async () => new Response([greet(name), text, await later()].join(', ')))`,
        'supabase/functions/whole/deno.json': '{ "imports": { "names": "./names.ts" } }',
        'supabase/functions/whole/names.ts': "export const name = 'Ada'",
        'supabase/functions/whole/later.ts': "export const later = 'later'",
        'supabase/functions/whole/texts/note.txt': 'a note: ☕',
        'supabase/functions/_shared/greet.ts':
          'export const greet = (name: string) => `hello ${name}`',
      },
      {
        metadata: {
          import_map_path: 'supabase/functions/whole/deno.json',
          static_patterns: ['supabase/functions/whole/texts/*.txt'],
        },
      },
    )
    expect(await text('whole')).toBe('hello Ada, a note: ☕, later')
  })

  test('keep the folders of their files, whatever these are called', async () => {
    await deploy('folders', {
      'supabase/functions/folders/index.ts': `
        import { a } from './source/a.ts'
        import { b } from '../source/b.ts'
        Deno.serve(() => new Response(a + b))`,
      'supabase/functions/folders/source/a.ts': "export const a = 'a'",
      'supabase/functions/source/b.ts': "export const b = 'b'",
    })
    expect(await text('folders')).toBe('ab')
  })

  test('may be large', async () => {
    const filling = 'x'.repeat(8 << 20)
    await deploy('large', {
      'supabase/functions/large/index.ts': `
        const text = await Deno.readTextFile(new URL('./large.txt', import.meta.url))
        Deno.serve(() => new Response(String(text.length)))`,
      'supabase/functions/large/large.txt': filling,
    })
    expect(await text('large')).toBe(String(filling.length))
  })

  test('are downloaded as they were deployed', async () => {
    const files = {
      'supabase/functions/loaded/index.ts': saying('loaded'),
      'supabase/functions/loaded/data.bin': 'ab\r\n--cd',
      'supabase/functions/_shared/ö b.ts': 'export {}',
    }
    await deploy('loaded', files)
    const response = await fetch(
      `${platform.url}/v1/projects/${platform.ref}/functions/loaded/body`,
      { headers: { Authorization: `Bearer ${platform.token}`, Accept: 'multipart/form-data' } },
    )
    expect(response.status).toBe(200)
    const form = await response.formData()
    const loaded = await Promise.all(
      form.getAll('file').map(async (file) => {
        if (typeof file === 'string') throw new Error('expected a file')
        return [file.name, await file.text()] as const
      }),
    )
    expect(Object.fromEntries(loaded)).toEqual(files)
    const metadata = form.get('metadata')
    const read = JSON.parse(typeof metadata === 'string' ? metadata : '{}') as {
      entrypoint_path: string
    }
    expect(read.entrypoint_path).toMatch(/\/supabase\/functions\/loaded\/index\.ts$/)
  })

  test.each([
    ['has a syntax error', 'Deno.serve(() => new Response("a")', /error|expected/i],
    [
      'imports a file that is not there',
      "import './gone.ts'\nDeno.serve(() => new Response())",
      /gone\.ts/,
    ],
    ['throws at its top level', "throw new Error('no way')", /no way/],
    ['rejects at its top level', "await Promise.reject(new Error('no promise'))", /no promise/],
    ['ends', 'Deno.exit(3)', /./],
  ])('replace nothing if the new version %s', async (_, source, words) => {
    const slug = 'steady'
    await deploy(slug, saying('steady'))
    const before = await listed(slug)
    const message = await refused(slug, source)
    expect(message).toMatch(words)
    expect(message).not.toContain(platform.server.dataDir)
    expect(await listed(slug)).toEqual(before)
    expect(await platform.call(slug)).toEqual({ status: 200, text: 'steady' })
    // A name that is new gets no function.
    await refused('never', source)
    expect(await listed('never')).toBeUndefined()
    expect((await platform.call('never')).status).toBe(404)
    expect((await platform.project('GET', '/functions/never')).status).toBe(404)
    // What is deployed next is not concerned.
    await deploy('after', saying('after'))
    expect(await text('after')).toBe('after')
  })

  test('check the tokens of their callers if they say so', async () => {
    await deploy('guarded', saying('in'))
    expect((await platform.call('guarded', '')).status).toBe(401)
    expect((await platform.call('guarded', 'x.y.z')).status).toBe(401)
    expect((await platform.call('guarded')).text).toBe('in')
    await deploy('guarded', saying('in'), { metadata: { verify_jwt: false } })
    expect(await platform.call('guarded', '')).toEqual({ status: 200, text: 'in' })
    const patched = await platform.project<FunctionBody>('PATCH', '/functions/guarded', {
      json: { verify_jwt: true },
    })
    expect(patched).toMatchObject({ status: 200, body: { verify_jwt: true } })
    expect((await platform.call('guarded', '')).status).toBe(401)
    expect((await platform.call('guarded')).text).toBe('in')
  })

  test('are made and changed as one file', async () => {
    const made = await platform.project<FunctionBody>('POST', '/functions', {
      json: { slug: 'single', name: 'Single', body: saying('one'), verify_jwt: false },
    })
    expect(made).toMatchObject({
      status: 201,
      body: { slug: 'single', name: 'Single', version: 1 },
    })
    expect(await platform.call('single', '')).toEqual({ status: 200, text: 'one' })
    const again = await platform.project('POST', '/functions', {
      json: { slug: 'single', name: 'Single', body: saying('two') },
    })
    expect(again.status).toBe(400)
    const changed = await platform.project<FunctionBody>('PATCH', '/functions/single', {
      json: { body: saying('three'), name: 'Other' },
    })
    expect(changed).toMatchObject({
      status: 200,
      body: { name: 'Other', version: 2, verify_jwt: false },
    })
    expect(await text('single')).toBe('three')
    const broken = await platform.project('PATCH', '/functions/single', {
      json: { body: 'throw new Error("broken")' },
    })
    expect(broken.status).toBe(400)
    expect(await text('single')).toBe('three')
    expect((await platform.project('PATCH', '/functions/nobody', { json: {} })).status).toBe(404)
    const eszip = await platform.project('POST', '/functions?slug=bundled&name=bundled', {
      body: 'ESZIP2',
      headers: { 'Content-Type': 'application/vnd.denoland.eszip' },
    })
    expect(eszip.status).toBe(400)
    expect(await listed('bundled')).toBeUndefined()
  })

  test('take calls all at once if they were bundled before', async () => {
    await deploy('early', saying('early 1'))
    const early = await deploy('early', saying('early 2'), { bundleOnly: true })
    const late = await deploy('late', saying('late 1'), { bundleOnly: true })
    expect(await text('early')).toBe('early 1')
    expect((await platform.call('late')).status).toBe(404)
    expect(await listed('late')).toBeUndefined()
    const promote = (...versions: object[]) =>
      platform.project('PUT', '/functions', { json: versions })
    // All or none.
    expect((await promote(early, { ...late, version: 99 })).status).toBe(404)
    const wrong = await deploy('wrong', 'throw new Error("wrong")', { bundleOnly: true })
    expect(await promote(early, wrong)).toMatchObject({ status: 400 })
    expect(await text('early')).toBe('early 1')
    const promoted = await platform.project<{ functions: FunctionBody[] }>('PUT', '/functions', {
      json: [early, late],
    })
    expect(promoted.status).toBe(200)
    expect(promoted.body.functions.map(({ slug }) => slug)).toEqual(
      expect.arrayContaining(['early', 'late']),
    )
    expect([await text('early'), await text('late')]).toEqual(['early 2', 'late 1'])
  })

  test('keep the name that a bundle gives them', async () => {
    const bundle = await deploy('named', saying('named'), {
      metadata: { name: 'Has a name' },
      bundleOnly: true,
    })
    expect(bundle.name).toBe('Has a name')
    await platform.project('PUT', '/functions', { json: [bundle] })
    expect(await listed('named')).toMatchObject({ name: 'Has a name' })
  })

  test('are gone once they are deleted, and can be deployed again', async () => {
    const kept =
      'select count(*) from basalt_platform.file_contents, basalt_platform.function_files'
    const before = await psqlAsSuperuser(platform.server.instance, kept)
    await deploy('gone', saying('here'))
    expect(await text('gone')).toBe('here')
    expect((await platform.project('DELETE', '/functions/gone')).status).toBe(200)
    expect(await psqlAsSuperuser(platform.server.instance, kept)).toBe(before)
    expect((await platform.call('gone')).status).toBe(404)
    expect(await listed('gone')).toBeUndefined()
    expect((await platform.project('GET', '/functions/gone')).status).toBe(404)
    expect((await platform.project('GET', '/functions/gone/body')).status).toBe(404)
    expect((await platform.project('DELETE', '/functions/gone')).status).toBe(404)
    await deploy('gone', saying('back'))
    expect(await text('gone')).toBe('back')
  })

  test('stand in front of those of the project’s folder', async () => {
    expect(await text('both')).toBe('of the folder')
    await deploy('both', saying('deployed'))
    expect(await text('both')).toBe('deployed')
    expect(await text('own')).toBe('own')
    const status = await platform.basalt('status')
    expect(status).toMatch(/^Function both: version \d+, which was deployed, serves/m)
    expect(status).not.toContain('Function own')
    expect((await platform.project('DELETE', '/functions/both')).status).toBe(200)
    expect(await text('both')).toBe('of the folder')
  })

  test('give way to those of the folder while these are being worked on', async () => {
    await deploy('both', saying('deployed'))
    const { binary, dataDir, project } = platform.server.instance
    const flags = ['functions', 'serve', '--project', project, '--data-dir', dataDir]
    const { environment: env } = platform.server
    const working = spawn(binary, flags, { stdio: ['ignore', 'pipe', 'pipe'], env })
    track(working, () => end(working, 'SIGINT', 10_000))
    await expect.poll(() => text('both')).toBe('of the folder')
    const file = path.join(project, 'supabase/functions/both/index.ts')
    await writeFile(file, saying('changed'))
    await expect.poll(() => text('both')).toBe('changed')
    expect(await platform.basalt('status')).toContain('Function both: that of the folder serves')
    await end(working, 'SIGINT', 10_000)
    await expect.poll(() => text('both')).toBe('deployed')
    await platform.project('DELETE', '/functions/both')
    await writeFile(file, saying('of the folder'))
  })

  test('see secrets within two seconds, and no more once these are deleted', async () => {
    await deploy('secretive', "Deno.serve(() => new Response(Deno.env.get('WORD') ?? 'none'))")
    expect(await text('secretive')).toBe('none')
    const times: number[] = []
    const seen = async (word: string) => {
      const begin = performance.now()
      await expect.poll(() => text('secretive')).toBe(word)
      times.push(performance.now() - begin)
    }
    for (const value of ['open', 'sesame', 'shut']) {
      const json = [{ name: 'WORD', value }]
      expect((await platform.project('POST', '/secrets', { json })).status).toBe(201)
      await seen(value)
    }
    expect((await platform.project('DELETE', '/secrets', { json: ['WORD'] })).status).toBe(200)
    await seen('none')
    expect(Math.max(...times)).toBeLessThan(2000)
  })

  describe('several at once', () => {
    const version = (number: number, wait = 0) => ({
      'supabase/functions/raced/index.ts': `
        await new Promise((done) => setTimeout(done, ${String(wait)}))
        import { number } from './number.ts'
        Deno.serve(async () => new Response(number + ' ' + (await import('./later.ts')).number))`,
      'supabase/functions/raced/number.ts': `export const number = ${String(number)}`,
      'supabase/functions/raced/later.ts': `export const number = ${String(number)}`,
    })

    test('of one name end as one of them, whole', async () => {
      for (let round = 0; round < 4; round++) {
        const numbers = [0, 1, 2].map((index) => round * 3 + index)
        const answers = await Promise.all(
          numbers.map((number) => platform.deploy('raced', version(number))),
        )
        expect(answers.map(({ status }) => status)).toContain(201)
        for (const { status } of answers) expect([201, 409]).toContain(status)
        const [imported, later] = (await text('raced')).split(' ')
        expect(numbers.map(String)).toContain(imported)
        expect(later).toBe(imported)
        // What is listed is what runs.
        const shown = await listed('raced')
        const index = answers.findIndex(({ body }) => body.version === shown?.version)
        expect(String(numbers[index])).toBe(imported)
      }
    })

    test('of one name are whole if the older one starts later', async () => {
      const slow = platform.deploy('raced', version(100, 3000))
      await expect
        .poll(() =>
          platform.server.psql(
            "select last_version > version from basalt_platform.functions where slug = 'raced'",
          ),
        )
        .toBe('t')
      await deploy('raced', version(200))
      const answer = await slow
      expect([201, 409]).toContain(answer.status)
      const [imported, later] = (await text('raced')).split(' ')
      expect(later).toBe(imported)
      // So it is after a restart of its process, for which its files have to be there.
      await platform.project('POST', '/secrets', { json: [{ name: 'ANOTHER', value: 'a' }] })
      await deploy('witness', "Deno.serve(() => new Response(Deno.env.get('ANOTHER')))")
      await expect.poll(() => text('witness')).toBe('a')
      for (let number = 0; number < 5; number++)
        expect(await platform.call('raced')).toEqual({
          status: 200,
          text: `${imported ?? ''} ${imported ?? ''}`,
        })
    })

    test('of one name that is deleted meanwhile are there, or not', async () => {
      for (const wait of [0, 300, 1500]) {
        await deploy('raced', version(1))
        const deploying = platform.deploy('raced', version(2, wait))
        const deleted = await platform.project('DELETE', '/functions/raced')
        expect(deleted.status).toBe(200)
        const { status } = await deploying
        expect([201, 404, 409]).toContain(status)
        // Whichever came last.
        const isThere = (await listed('raced')) !== undefined
        if (status !== 201) expect(isThere).toBe(false)
        expect(await platform.call('raced')).toMatchObject(
          isThere ? { status: 200, text: '2 2' } : { status: 404 },
        )
      }
    })

    test('of several names succeed, also with the same files', async () => {
      const shared = (number: number) => ({
        'supabase/functions/x/index.ts': `
          import { word } from './word.ts'
          Deno.serve(() => new Response(word))`,
        'supabase/functions/x/word.ts': `export const word = '${'word '.repeat(2000)}${String(number % 2)}'`,
      })
      const names = ['one', 'two', 'three']
      for (let round = 0; round < 4; round++) {
        const answers = await Promise.all(
          names.map((name, index) => platform.deploy(name, shared(round + index))),
        )
        expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
        for (const [index, name] of names.entries())
          expect((await text(name)).at(-1)).toBe(String((round + index) % 2))
      }
    })

    test('do not lose a call whose body begins after several of them', async () => {
      const answering = (word: string) => `
        Deno.serve(async (request) => new Response(await request.text() + ' ${word}'))`
      await deploy('late', answering('first'))
      const socket = await dial(platform.url)
      const headers = {
        Authorization: `Bearer ${platform.server.access.anonKey}`,
        'Content-Length': '4',
        Connection: 'close',
      }
      await write(socket, head('POST', `${platform.url}/functions/v1/late`, headers))
      // Its version is chosen, and gone before there is anything to give to it.
      await platform.call('late')
      await deploy('late', answering('second'))
      await deploy('late', answering('third'))
      const answered = once(socket, 'data')
      await write(socket, 'body')
      expect(String((await answered)[0])).toMatch(/^HTTP\/1.1 200[^]*body third/)
      socket.destroy()
    })

    test('lose no call', async () => {
      await deploy('busy', saying('0'))
      let isOver = false
      let calls = 0
      const failures: unknown[] = []
      const call = async () => {
        let newest = 0
        while (!isOver) {
          const answer = await platform.call('busy').catch((error: unknown) => error)
          const { status, text } = answer as { status?: number; text?: string }
          calls++
          const number = Number(text)
          // Nobody meets an older version after a newer one.
          if (status !== 200 || Number.isNaN(number) || number < newest) failures.push(answer)
          else newest = number
        }
      }
      const calling = Promise.all([call(), call(), call(), call()])
      for (let number = 1; number <= DEPLOYMENTS; number++) {
        await deploy('busy', saying(String(number)))
        const seen = await text('busy')
        if (seen !== String(number)) failures.push({ deployed: number, seen })
      }
      isOver = true
      await calling
      expect(failures).toEqual([])
      expect(calls).toBeGreaterThan(DEPLOYMENTS)
    }, 180_000)
  })

  test('outlast a restart of the server, and a kill', async () => {
    await deploy('lasting', {
      'supabase/functions/lasting/index.ts': `
        import { word } from '../_shared/word.ts'
        Deno.serve(() => new Response(word + ' ' + (Deno.env.get('KEPT') ?? 'none')))`,
      'supabase/functions/_shared/word.ts': "export const word = 'lasting'",
    })
    await deploy('lasting-open', saying('open'), { metadata: { verify_jwt: false } })
    await platform.project('POST', '/secrets', { json: [{ name: 'KEPT', value: 'kept' }] })
    const before = await platform.functions()
    const { dataDir, project } = platform.server
    const restart = async () => {
      const server = await Server.start({ project, dataDir, folders: [project] })
      platform = await Platform.of(server)
    }
    await platform.server.stop({ keepData: true })
    await restart()
    expect(await platform.functions()).toEqual(before)
    expect(await text('lasting')).toBe('lasting kept')
    expect(await platform.call('lasting-open', '')).toEqual({ status: 200, text: 'open' })
    expect((await platform.call('lasting', '')).status).toBe(401)
    await platform.server.kill()
    await restart()
    expect(await text('lasting')).toBe('lasting kept')
    await deploy('lasting', saying('newer'))
    expect(await text('lasting')).toBe('newer')
  })
})
