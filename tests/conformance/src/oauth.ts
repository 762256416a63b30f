/** What cases of the OAuth server share: its clients. */
import type { Context } from './context.ts'

/** Where clients are led back to; nobody is there. */
export const redirect_uri = 'https://app.conformance.invalid/back'

const service = { as: 'service' } as const

/** Asks whether the service is a server of OAuth. */
export const probe = async (t: Context) => t.present(await t.get('admin/oauth/clients', service))

/** A registered client with its secret. */
export interface Client {
  client_id: string
  client_secret: string
}

/** Registers a client, and removes it after the case. */
export async function registers(t: Context, more: Record<string, unknown> = {}) {
  const client_name = t.unique('client')
  const body = { client_name, redirect_uris: [redirect_uri], ...more }
  const response = await t.post('admin/oauth/clients', body, service)
  if (response.status === 201) {
    t.after(() => t.discard(`/auth/v1/admin/oauth/clients/${response.field('client_id')}`))
  }
  return { client_name, response, client: response.json as Client }
}
