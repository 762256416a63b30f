import { generateKeyPairSync, randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { gotrue, openapi, refusal } from '../../gotrue.ts'
import { including, partly, some } from '../../match.ts'

const guide = 'https://supabase.com/docs/guides/auth/enterprise-sso/auth-sso-saml'
const service = { as: 'service' } as const

/** Returns what an identity provider publishes about itself; its certificate is not used, since nobody signs in. */
function metadata(entityId: string): string {
  const { publicKey } = generateKeyPairSync('ed25519')
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const namespaces =
    'xmlns="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#"'
  const certificate =
    `<KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${key}</ds:X509Certificate>` +
    '</ds:X509Data></ds:KeyInfo></KeyDescriptor>'
  const binding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'
  return (
    `<?xml version="1.0"?><EntityDescriptor ${namespaces} entityID="${entityId}">` +
    '<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">' +
    `${certificate}<SingleSignOnService Binding="${binding}" Location="https://idp.conformance.invalid/sso"/>` +
    '</IDPSSODescriptor></EntityDescriptor>'
  )
}

/** Returns names that nobody else uses. */
function names(t: Context) {
  const name = t.unique('idp').replaceAll('_', '-')
  return { entityId: `https://${name}.invalid/metadata`, domain: `${name}.invalid` }
}

/** Makes a provider, and removes it after the case. */
async function provider(t: Context, more: Record<string, unknown> = {}) {
  const { entityId, domain } = names(t)
  const body = { type: 'saml', metadata_xml: metadata(entityId), domains: [domain], ...more }
  const response = await t.post('admin/sso/providers', body, service)
  if (response.status === 201) {
    t.after(() => t.discard(`/auth/v1/admin/sso/providers/${response.field('id')}`))
  }
  return { entityId, domain, response, id: response.field('id') }
}

export const providers = group('auth.admin-sso', {
  title: 'Identity providers of organisations',
  source: openapi(1752),
  needs: ['service'],
  probe: async (t) => t.present(await t.get('admin/sso/providers', service)),
})

providers.case('create', 'a provider is made of its metadata and its domains', async (t) => {
  const saml = {
    attribute_mapping: { keys: { team: { names: ['squad', 'club'], default: 'none' } } },
    name_id_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  }
  const { entityId, domain, response } = await provider(t, { ...saml, disabled: false })
  response.has(201, {
    id: some.uuid,
    saml: partly({ entity_id: entityId, metadata_xml: some.string, ...saml }),
    ...{ domains: [partly({ domain })], disabled: false },
    ...{ created_at: some.time, updated_at: some.time },
  })
})

providers.case('get', 'a provider is found by its id', { source: openapi(1825) }, async (t) => {
  const { entityId, id } = await provider(t)
  await t
    .get(`admin/sso/providers/${id}`, service)
    .has(200, { id, saml: partly({ entity_id: entityId }) })
})

providers.case('list', 'all providers are listed, without their metadata', async (t) => {
  const { entityId, id } = await provider(t)
  await t.get('admin/sso/providers', service).has(200, {
    items: including(
      partly({ id, saml: partly({ entity_id: entityId, metadata_xml: undefined }) }),
    ),
  })
})

providers.case(
  'update',
  'domains and attributes are replaced',
  { source: openapi(1849) },
  async (t) => {
    const { id } = await provider(t)
    const { domain } = names(t)
    const attribute_mapping = { keys: { team: { name: 'squad' } } }
    const path = `admin/sso/providers/${id}`
    await t.put(path, { domains: [domain], attribute_mapping, disabled: true }, service).has(200, {
      ...{ id, disabled: true, domains: [partly({ domain })] },
      saml: partly({ attribute_mapping }),
    })
    // What is not named stays.
    await t.put(path, { domains: [] }, service).has(200, {
      ...{ id, disabled: true, domains: [] },
      saml: partly({ attribute_mapping }),
    })
  },
)

providers.case(
  'update.entity',
  'metadata of another provider are refused',
  { source: gotrue('ssoadmin.go', 322) },
  async (t) => {
    const { id } = await provider(t)
    const metadata_xml = metadata(names(t).entityId)
    await t
      .put(`admin/sso/providers/${id}`, { metadata_xml }, service)
      .is(...refusal(400, 'saml_entity_id_mismatch'))
  },
)

providers.case(
  'resource',
  'a provider is found by the id that others gave it',
  { source: gotrue('ssoadmin.go', 38) },
  async (t) => {
    const resource_id = t.unique('resource')
    const { id } = await provider(t, { resource_id })
    const path = 'admin/sso/providers'
    await t.get(`${path}/resource_${resource_id}`, service).has(200, { id, resource_id })
    await t
      .get(`${path}?resource_id=${resource_id}`, service)
      .has(200, { items: [partly({ id, resource_id })] })
    await t
      .get(`${path}?resource_id_prefix=${resource_id.slice(0, -1)}`, service)
      .has(200, { items: [partly({ id, resource_id })] })
    await t
      .put(`${path}/${id}`, { resource_id: '' }, service)
      .has(200, { id, resource_id: undefined })
  },
)

providers.case('delete', 'a deleted provider is gone', { source: openapi(1895) }, async (t) => {
  const { id } = await provider(t)
  await t.delete(`admin/sso/providers/${id}`, service).has(200, { id })
  await t.get(`admin/sso/providers/${id}`, service).is(...refusal(404, 'sso_provider_not_found'))
})

providers.case(
  'unknown',
  'an unknown provider is not found',
  { source: gotrue('ssoadmin.go', 43) },
  (t) =>
    t
      .get(`admin/sso/providers/${randomUUID()}`, service)
      .is(...refusal(404, 'sso_provider_not_found')),
)

providers.case(
  'taken',
  'a provider is there one time',
  { source: gotrue('ssoadmin.go', 234) },
  async (t) => {
    const { entityId } = await provider(t)
    const second = await provider(t, { metadata_xml: metadata(entityId) })
    second.response.is(...refusal(422, 'saml_idp_already_exists'))
  },
)

providers.case(
  'domain.taken',
  'a domain has one provider',
  { source: gotrue('ssoadmin.go', 267) },
  async (t) => {
    const { domain } = await provider(t)
    const taken = refusal(400, 'sso_domain_already_exists')
    const second = await provider(t, { domains: [domain] })
    second.response.is(...taken)
    const third = await provider(t)
    await t.put(`admin/sso/providers/${third.id}`, { domains: [domain] }, service).is(...taken)
  },
)

const xml = metadata('https://idp.conformance.invalid/metadata')
const refusals: [string, string, Record<string, unknown>, number][] = [
  ['type', 'a provider speaks SAML', { type: 'pigeon', metadata_xml: xml }, 96],
  [
    'metadata.both',
    'there are metadata or their address, not both',
    { type: 'saml', metadata_xml: xml, metadata_url: 'https://idp.conformance.invalid/' },
    98,
  ],
  ['metadata.none', 'there are metadata or their address', { type: 'saml' }, 100],
  [
    'metadata.plain',
    'metadata are fetched by HTTPS',
    { type: 'saml', metadata_url: 'http://idp.conformance.invalid/' },
    108,
  ],
]
for (const [name, promise, body, line] of refusals) {
  providers.case(name, promise, { source: gotrue('ssoadmin.go', line) }, (t) =>
    t.post('admin/sso/providers', body, service).is(...refusal(400, 'validation_failed')),
  )
}

providers.case('user', 'users see no providers', async (t) => {
  const user = await t.user()
  await t.get('admin/sso/providers', { as: user }).is(...refusal(403, 'not_admin'))
})

export const sso = group('auth.sso', {
  title: 'Signing in with an organisation: SAML',
  source: guide,
  needs: ['service'],
  probe: async (t) => t.present(await t.get('sso/saml/metadata')),
})

sso.case(
  'metadata',
  'the service publishes what providers need to know',
  { source: openapi(1234) },
  (t) =>
    t
      .get('sso/saml/metadata')
      .text(
        200,
        /^<(?=[^]*EntityDescriptor)(?=[^]*entityID="[^"]*\/sso\/saml\/metadata")(?=[^]*\/sso\/saml\/acs")/,
      )
      .header('content-type', /xml/),
)

sso.case('domain', 'who names the domain is led to its provider', async (t) => {
  const { domain } = await provider(t)
  const { data, error } = await t.anon.auth.signInWithSSO({ domain })
  t.data({ data, error }, { url: /^https:\/\/idp\.conformance\.invalid\/sso\?.*SAMLRequest=/ })
})

sso.case(
  'provider',
  'who names the provider is led to it',
  { source: 'https://supabase.com/docs/reference/javascript/auth-signinwithsso' },
  async (t) => {
    const { id: providerId } = await provider(t)
    const { data, error } = await t.anon.auth.signInWithSSO({ providerId })
    t.data({ data, error }, { url: /[?&]RelayState=[^&]+/ })
  },
)

sso.case(
  'redirect',
  'without a page of its own the response is a redirect',
  { source: openapi(1169) },
  async (t) => {
    const { domain } = await provider(t)
    await t
      .post('sso', { domain })
      .is(303)
      .header('location', /^https:\/\/idp\.conformance\.invalid\/sso\?.*SAMLRequest=/)
  },
)

const requests: [string, string, () => Record<string, unknown>, number, string, number][] = [
  [
    'domain.unknown',
    'an unknown domain has no provider',
    () => ({ domain: 'nobody.conformance.invalid' }),
    404,
    'sso_provider_not_found',
    67,
  ],
  [
    'provider.unknown',
    'an unknown provider is not found',
    () => ({ provider_id: randomUUID() }),
    404,
    'sso_provider_not_found',
    60,
  ],
  ['neither', 'a domain or a provider has to be told', () => ({}), 400, 'validation_failed', 33],
  [
    'both',
    'there is a domain or a provider, not both',
    () => ({ domain: 'nobody.conformance.invalid', provider_id: randomUUID() }),
    400,
    'validation_failed',
    31,
  ],
]
for (const [name, promise, body, status, code, line] of requests) {
  sso.case(name, promise, { source: gotrue('sso.go', line) }, (t) =>
    t.post('sso', body()).is(...refusal(status, code)),
  )
}

sso.case(
  'disabled',
  'a provider that is off leads nowhere',
  { source: gotrue('sso.go', 74) },
  async (t) => {
    const { domain } = await provider(t, { disabled: true })
    await t.post('sso', { domain }).is(...refusal(404, 'sso_provider_disabled'))
  },
)
