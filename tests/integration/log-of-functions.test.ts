import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { layFunctions } from '../support/functions.mjs'
import { callFunction, contactSubmission } from '../support/leads.ts'
import { Model } from '../support/model.mjs'
import { Server } from '../support/server.mjs'

describe.skipIf(inject('own') === null)('the log of the site’s functions', () => {
  let server: Server
  let model: Model
  let folder: string
  let log = ''

  beforeAll(async () => {
    model = await Model.start()
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-functions-'))
    await layFunctions(folder, model.url)
    const env = { BASALT_FUNCTIONS_PATH: folder }
    const only = ['rest', 'auth', 'functions']
    server = await Server.start({ only, folders: [folder], env })
    const keep = (part: Buffer) => (log += part.toString())
    server.process.stdout.on('data', keep)
    server.process.stderr.on('data', keep)
  })

  const logged = (text: string) => vi.waitUntil(() => log.includes(text), { timeout: 20_000 })

  test.each([
    ['at once', 'key', 'configuration_error', 'Incorrect API key provided: …'],
    ['in the middle', 'half', 'openai_quota_exceeded', 'You exceeded the quota of …'],
  ])('says why a model refuses %s, without the key that it quotes', async (_, mode, error, why) => {
    model.mode = mode
    const response = await callFunction(server, 'chat-model', {
      message: 'Is there a licence fee?',
    })
    expect(await response.json()).toMatchObject({ error })
    await logged(why)
    expect(log).not.toContain('test-key')
  })

  test('says why the database refuses, without the row', async () => {
    await server.psql(
      "alter table public.contact_submissions add constraint only_harbours check (company ~ 'Harbour')",
    )
    const lead = contactSubmission({ company: 'Quarry United' })
    expect((await callFunction(server, 'contact-notification', lead)).status).toBe(400)
    await logged('only_harbours')
    for (const word of Object.values(lead.record)) expect(log).not.toContain(word)
  })
})
