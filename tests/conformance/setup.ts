import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import type { TestProject } from 'vitest/node'

import { everyWayIn } from '../support/auth.ts'
import { layFunctions } from '../support/functions.mjs'
import { Model } from '../support/model.mjs'
import { Provider } from '../support/provider.ts'
import { Registry } from '../support/registry.mjs'
import { Server } from '../support/server.mjs'

/** Properties that only a server of the tests' own has. */
export interface Own {
  /** The arguments that identify it to Basalt's commands. */
  place: Server['place']
  /** The URL of the page with its mails. */
  inboxUrl: string
  /** The mock of the language model. */
  modelUrl: string
  /** The OpenID provider that it is configured with. */
  providerUrl: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    access: Server['access']
    /** There for a server that was started for the run. */
    own: Own | null
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
  const [model, provider] = [await Model.start(), await Provider.start()]
  const registry = await Registry.start()
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-functions-'))
  await layFunctions(folder, model.url)
  const env = {
    ...everyWayIn(provider.url, 'http://localhost:5173'),
    GOTRUE_SAML_ENABLED: 'true',
    GOTRUE_SAML_PRIVATE_KEY: samlKey(),
    BASALT_FUNCTIONS_PATH: folder,
    JSR_URL: registry.url,
    NPM_CONFIG_REGISTRY: registry.url,
  }
  const end = async () => {
    model.stop()
    registry.stop()
    await provider.stop()
    await rm(folder, { recursive: true, force: true })
  }
  const server = await Server.start({ env }).catch(async (error: unknown) => {
    await end()
    throw error
  })
  const { inboxUrl, place } = server
  provide('access', server.access)
  provide('own', { place, inboxUrl, modelUrl: model.url, providerUrl: provider.url })
  return async () => {
    await server.stop()
    await end()
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
