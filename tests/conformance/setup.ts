import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import type { TestProject } from 'vitest/node'

import { layFunctions } from '../support/functions.mjs'
import { Model } from '../support/model.mjs'
import { Server } from '../support/server.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    access: Server['access']
    /** What only a server of the tests' own has: the language model's stand-in, and the mails. */
    own: { modelUrl: string; inboxUrl: string } | null
  }
}

/**
 * Provides the server under test: the one named by SUPABASE_URL, SUPABASE_ANON_KEY and SUPABASE_SERVICE_ROLE_KEY
 * (Basalt or hosted Supabase, with this repository's schema/site applied), or else a Basalt started for the run.
 */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const {
    SUPABASE_URL: url,
    SUPABASE_ANON_KEY: anonKey,
    SUPABASE_SERVICE_ROLE_KEY: serviceKey,
  } = process.env
  if (url && anonKey && serviceKey) {
    provide('access', { url, anonKey, serviceKey })
    provide('own', null)
    return () => Promise.resolve()
  }
  const model = await Model.start()
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-functions-'))
  await layFunctions(folder, model.url)
  const server = await Server.start({
    env: {
      GOTRUE_OAUTH_SERVER_ENABLED: 'true',
      GOTRUE_SAML_ENABLED: 'true',
      GOTRUE_SAML_PRIVATE_KEY: samlKey(),
      BASALT_FUNCTIONS_PATH: folder,
    },
  })
  provide('access', server.access)
  provide('own', { modelUrl: model.url, inboxUrl: server.inboxUrl })
  return async () => {
    await server.stop()
    model.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** A key of one's own for single sign-on, PKCS#1 DER in base64. */
function samlKey() {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'der' },
    publicKeyEncoding: { type: 'pkcs1', format: 'der' },
  })
  return privateKey.toString('base64')
}
