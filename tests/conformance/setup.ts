import type { TestProject } from 'vitest/node'

import { Server } from '../support/server.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    access: Server['access']
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
    return () => Promise.resolve()
  }
  const server = await Server.start({ env: { GOTRUE_OAUTH_SERVER_ENABLED: 'true' } })
  provide('access', server.access)
  return () => server.stop()
}
