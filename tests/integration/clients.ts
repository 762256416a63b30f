import type { FunctionInvokeOptions } from '@supabase/supabase-js'
import { inject } from 'vitest'

import { connect, type Client, type Traits } from '../support/client.ts'

/** Returns the stock client of a visitor who is not signed in. */
export function visitor(traits?: Traits): Client {
  const { url, anonKey } = inject('access')
  return connect(url, anonKey, traits)
}

/** Returns the stock client of a trusted server. */
export function service(): Client {
  const { url, serviceKey } = inject('access')
  return connect(url, serviceKey)
}

/** The result of a call of a function. */
interface InvocationResult<T> {
  data: T | null
  error: (Error & { context?: Response }) | null
}

/** Calls a function; the client's own type does not describe its errors. */
export async function invoke<T>(
  client: Client,
  name: string,
  options?: FunctionInvokeOptions,
): Promise<InvocationResult<T>> {
  return await client.functions.invoke<T>(name, options)
}
