import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import type { TestProject } from 'vitest/node'

import { everyWayIn } from '../support/auth.mjs'
import { layFunctions } from '../support/functions.mjs'
import { Model } from '../support/model.mjs'
import { Provider } from '../support/provider.ts'
import { Registry } from '../support/registry.mjs'
import { prepareDataDir, Server } from '../support/server.mjs'

/** What clients of the S3 protocol sign with. */
interface S3Keys {
  accessKeyId: string
  secretAccessKey: string
  region: string
  /** The project's reference, the access key of clients with a session token. */
  project: string
}

/** Properties that only a server of the tests' own has. */
export interface OwnServer {
  /** The arguments that identify it to Basalt's commands. */
  instance: Server['instance']
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
    /** Null for another server whose keys for S3 nobody has named. */
    s3: S3Keys | null
    /** There for a server that was started for the run. */
    own: OwnServer | null
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
    S3_PROTOCOL_ACCESS_KEY_ID: accessKeyId,
    S3_PROTOCOL_ACCESS_KEY_SECRET: secretAccessKey,
    S3_PROTOCOL_REGION: region = 'local',
  } = process.env
  if (url && anonKey && serviceKey) {
    provide('access', { url, anonKey, serviceKey })
    const project = new URL(url).hostname.split('.')[0] ?? ''
    provide(
      's3',
      accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey, region, project } : null,
    )
    provide('own', null)
    return () => Promise.resolve()
  }
  const [model, provider] = [await Model.start(), await Provider.start()]
  const registry = await Registry.start()
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-functions-'))
  await layFunctions(folder, model.url)
  const s3 = {
    accessKeyId: 'integration',
    secretAccessKey: 'secret of tests',
    region: 'local',
    project: 'terrace',
  }
  const env = {
    S3_PROTOCOL_ACCESS_KEY_ID: s3.accessKeyId,
    S3_PROTOCOL_ACCESS_KEY_SECRET: s3.secretAccessKey,
    ...everyWayIn(provider.url, 'http://localhost:5173'),
    GOTRUE_SAML_ENABLED: 'true',
    GOTRUE_SAML_PRIVATE_KEY: samlKey(),
    BASALT_FUNCTIONS_PATH: folder,
    JSR_URL: registry.url,
    NPM_CONFIG_REGISTRY: registry.url,
    // All tests of channels together are more than one project's users may be by default.
    TENANT_MAX_CONCURRENT_USERS: '5000',
    TENANT_MAX_JOINS_PER_SECOND: '5000',
    TENANT_MAX_EVENTS_PER_SECOND: '1000000',
    CHANNEL_ERROR_BACKOFF_MS: '200',
    CONNECT_ERROR_BACKOFF_MS: '200',
  }
  const forget = await prepareDataDir()
  const end = async () => {
    model.stop()
    registry.stop()
    await provider.stop()
    await forget()
    await rm(folder, { recursive: true, force: true })
  }
  const server = await Server.start({ env }).catch(async (error: unknown) => {
    await end()
    throw error
  })
  const { inboxUrl, instance } = server
  provide('access', server.access)
  provide('s3', s3)
  provide('own', { instance, inboxUrl, modelUrl: model.url, providerUrl: provider.url })
  return async () => {
    await server.stop()
    await end()
  }
}

/** Generates a key for single sign-on, PKCS#1 DER in base64. */
function samlKey() {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'der' },
    publicKeyEncoding: { type: 'pkcs1', format: 'der' },
  })
  return privateKey.toString('base64')
}
