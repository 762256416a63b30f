import { randomUUID } from 'node:crypto'

import { expect, inject, onTestFinished, test } from 'vitest'

import { visitor } from './clients.ts'
import { lacks } from './features.ts'

const { url, serviceKey } = inject('access')

const headers = { apikey: serviceKey, Authorization: `Bearer ${serviceKey}` }
const providers = `${url}/auth/v1/admin/sso/providers`

/** Registers an invented identity provider for the users of one domain, and removes it when the test is over. */
async function provider() {
  const domain = `${randomUUID()}.example`
  const metadata = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://${domain}/metadata">
    <IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
      <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://${domain}/sso"/>
    </IDPSSODescriptor>
  </EntityDescriptor>`
  const answer = await fetch(providers, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ type: 'saml', metadata_xml: metadata, domains: [domain] }),
  })
  expect(answer.status).toBe(201)
  const { id } = (await answer.json()) as { id: string }
  onTestFinished(async () => {
    await fetch(`${providers}/${id}`, { method: 'DELETE', headers })
  })
  return { id, domain }
}

test.skipIf(lacks('saml'))('users are sent to the identity provider of their domain', async () => {
  const { id, domain } = await provider()
  for (const wish of [{ domain }, { providerId: id }]) {
    const { data, error } = await visitor().auth.signInWithSSO(wish)
    expect(error).toBeNull()
    const target = new URL(data?.url ?? '')
    expect(target.origin + target.pathname).toBe(`https://${domain}/sso`)
    expect([...target.searchParams.keys()]).toEqual([
      'SAMLRequest',
      'RelayState',
      'SigAlg',
      'Signature',
    ])
  }
})

test.skipIf(lacks('saml'))('nobody is sent anywhere from a domain without one', async () => {
  const { data, error } = await visitor().auth.signInWithSSO({ domain: `${randomUUID()}.example` })
  expect(data).toBeNull()
  expect(error).toMatchObject({ status: 404, code: 'sso_provider_not_found' })
})

test.skipIf(lacks('saml'))(
  'identity providers can be set up with the metadata of the project',
  async () => {
    const answer = await fetch(`${url}/auth/v1/sso/saml/metadata`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('application/xml')
    expect(await answer.text()).toMatch(/entityID="[^"]+\/sso\/saml\/metadata"/)
  },
)
