/** Single sign-on with an identity provider that a library is: honest, and as attackers bend what it says. */
import { randomUUID } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'

import samlify from 'samlify'
import { beforeAll, describe, expect, inject, test } from 'vitest'

import { selfSigned } from '../support/certificate.mjs'
import { lacks } from './features.ts'

const { url, serviceKey } = inject('access')
const base = `${url}/auth/v1`
const headers = {
  apikey: serviceKey,
  Authorization: `Bearer ${serviceKey}`,
  'Content-Type': 'application/json',
}
const { Constants, IdentityProvider, SamlLib, ServiceProvider } = samlify
const SHA256 = Constants.algorithms.signature.RSA_SHA256
// The server is what checks documents here.
samlify.setSchemaValidator({ validate: () => Promise.resolve('valid') })

/** What a response says, as the library's template has it. */
interface Said {
  user: string
  audience: string
  recipient: string
  destination: string
  issuer: string
  inResponseTo: string
  end: string
  now: string
}

const template = (attributes: string) =>
  `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="{ID}" Version="2.0" IssueInstant="{IssueInstant}" Destination="{Destination}" InResponseTo="{InResponseTo}"><saml:Issuer>{Issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status><saml:Assertion ID="{AssertionID}" Version="2.0" IssueInstant="{IssueInstant}"><saml:Issuer>{Issuer}</saml:Issuer><saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:persistent">{NameID}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="{End}" Recipient="{Recipient}" InResponseTo="{InResponseTo}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="{IssueInstant}" NotOnOrAfter="{End}"><saml:AudienceRestriction><saml:Audience>{Audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>${attributes}</saml:Assertion></samlp:Response>`

const attributes = `<saml:AttributeStatement><saml:Attribute Name="email"><saml:AttributeValue>{Email}</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>`

/** An identity provider of one domain. */
class Provider {
  readonly domain = `${randomUUID()}.example`
  readonly entity = `https://${this.domain}/metadata`
  readonly key = selfSigned(this.domain)

  /** The library’s provider. */
  private library() {
    return IdentityProvider({
      entityID: this.entity,
      privateKey: this.key.privateKey,
      signingCert: this.key.certificate,
      isAssertionEncrypted: false,
      requestSignatureAlgorithm: SHA256,
      wantAuthnRequestsSigned: false,
      messageSigningOrder: 'sign-then-encrypt',
      loginResponseTemplate: { context: template(attributes), attributes: [] },
      singleSignOnService: [
        {
          Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
          Location: `https://${this.domain}/sso`,
        },
      ],
    })
  }

  async register(): Promise<this> {
    const metadata = this.library().getMetadata()
    const body = { type: 'saml', metadata_xml: metadata, domains: [this.domain] }
    const response = await fetch(`${base}/admin/sso/providers`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    expect(response.status, await response.clone().text()).toBe(201)
    return this
  }

  /** Begins a sign-in as the client does; returns the id of the request and the relay state. */
  async begin(): Promise<{ id: string; relayState: string }> {
    const response = await fetch(`${base}/sso`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ domain: this.domain, skip_http_redirect: true }),
    })
    const target = new URL(((await response.json()) as { url: string }).url).searchParams
    const request = inflateRawSync(Buffer.from(target.get('SAMLRequest') ?? '', 'base64'))
    return {
      id: /ID="([^"]+)"/.exec(request.toString())?.[1] ?? '',
      relayState: target.get('RelayState') ?? '',
    }
  }

  /** Returns what the provider says, signed by the library. */
  async respond(
    inResponseTo: string,
    changes: Partial<Said> = {},
    { message = false, key = this.key } = {},
  ): Promise<string> {
    const now = new Date().toISOString()
    const said: Said = {
      user: 'ada',
      audience: `${base}/sso/saml/metadata`,
      recipient: `${base}/sso/saml/acs`,
      destination: `${base}/sso/saml/acs`,
      issuer: this.entity,
      inResponseTo,
      end: new Date(Date.now() + 60_000).toISOString(),
      now,
      ...changes,
    }
    const service = ServiceProvider({
      entityID: said.audience,
      wantAssertionsSigned: !message,
      wantMessageSigned: message,
      assertionConsumerService: [
        { Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST', Location: said.recipient },
      ],
    })
    const provider = IdentityProvider({
      ...this.library().entitySetting,
      privateKey: key.privateKey,
      signingCert: key.certificate,
    })
    const fill = (context: string) => ({
      id: `_${randomUUID()}`,
      context: SamlLib.replaceTagsByValue(context, {
        ID: `_${randomUUID()}`,
        AssertionID: `_${randomUUID()}`,
        Destination: said.destination,
        Recipient: said.recipient,
        Audience: said.audience,
        Issuer: said.issuer,
        IssueInstant: said.now,
        InResponseTo: said.inResponseTo,
        End: said.end,
        NameID: said.user,
        Email: `${said.user}@${this.domain}`,
      }),
    })
    const request = { extract: { request: { id: inResponseTo } } }
    const user = { email: `${said.user}@${this.domain}` }
    const made = await provider.createLoginResponse(service, request, 'post', user, fill)
    return Buffer.from((made as { context: string }).context, 'base64').toString()
  }
}

/** Posts a response as a browser does; returns where it is sent on, or the refusal. */
async function post(xml: string, relayState = ''): Promise<URLSearchParams> {
  const form = new URLSearchParams({ SAMLResponse: Buffer.from(xml).toString('base64') })
  if (relayState !== '') form.set('RelayState', relayState)
  const response = await fetch(`${base}/sso/saml/acs`, {
    method: 'POST',
    body: form,
    redirect: 'manual',
  })
  const location = response.headers.get('location')
  if (location === null) return new URLSearchParams({ error: String(response.status) })
  const { hash, search } = new URL(location)
  return new URLSearchParams(hash.length > 1 ? hash.slice(1) : search)
}

/** Returns who a session belongs to. */
async function whoIs(response: URLSearchParams): Promise<string | undefined> {
  const token = response.get('access_token')
  if (token === null) return undefined
  const user = await fetch(`${base}/user`, {
    headers: { ...headers, Authorization: `Bearer ${token}` },
  })
  return ((await user.json()) as { email: string }).email
}

describe.skipIf(lacks('saml'))('a response of an identity provider’s library', () => {
  let provider: Provider
  beforeAll(async () => {
    provider = await new Provider().register()
  })

  test.for([false, true])('signs in, message signed: %s', async (message) => {
    const { id, relayState } = await provider.begin()
    const response = await post(await provider.respond(id, {}, { message }), relayState)
    expect(await whoIs(response), response.toString()).toBe(`ada@${provider.domain}`)
  })

  /** Sends a response that must not sign anybody in. */
  async function refused(
    make: (id: string) => Promise<string> | string,
    state: (given: string) => string = (given) => given,
  ) {
    const { id, relayState } = await provider.begin()
    const response = await post(await make(id), state(relayState))
    expect(response.get('access_token'), response.toString()).toBeNull()
    expect(response.get('error'), response.toString()).not.toBeNull()
  }

  const hour = 3_600_000
  const at = (difference: number) => new Date(Date.now() + difference).toISOString()
  test.for<[string, Partial<Said>]>([
    ['another audience', { audience: 'https://other.example/metadata' }],
    ['another recipient', { recipient: 'https://other.example/acs' }],
    ['another issuer', { issuer: 'https://other.example/metadata' }],
    ['another request', { inResponseTo: '_somebody-elses' }],
    ['the past', { now: at(-2 * hour), end: at(-hour) }],
    ['the future', { now: at(hour), end: at(2 * hour) }],
  ])('signs nobody in who comes with that for %s', async ([, said]) => {
    await refused((id) => provider.respond(id, said))
  })

  test('signs nobody in whose message is for another destination', async () => {
    const said = { destination: 'https://other.example/acs' }
    await refused((id) => provider.respond(id, said, { message: true }))
    await refused((id) => provider.respond(id, said))
  })

  test('signs nobody in with somebody else’s key, or without a signature', async () => {
    const key = selfSigned(provider.domain)
    await refused((id) => provider.respond(id, {}, { key }))
    const unsigned = /<(?:ds:)?Signature[\s\S]*?<\/(?:ds:)?Signature>/g
    await refused(async (id) => (await provider.respond(id)).replaceAll(unsigned, ''))
    await refused(async (id) =>
      (await provider.respond(id, {}, { message: true })).replaceAll(unsigned, ''),
    )
  })

  test('signs in once', async () => {
    const { id, relayState } = await provider.begin()
    const response = await provider.respond(id)
    expect((await post(response, relayState)).get('access_token')).not.toBeNull()
    for (const state of [relayState, '', (await provider.begin()).relayState])
      expect((await post(response, state)).get('access_token')).toBeNull()
  })

  test('signs nobody in as the user of another provider', async () => {
    const other = await new Provider().register()
    const { id, relayState } = await other.begin()
    const said = { issuer: other.entity, user: `ada@${other.domain}` }
    expect(
      (await post(await provider.respond(id, said), relayState)).get('access_token'),
    ).toBeNull()
    expect((await post(await provider.respond(id), relayState)).get('access_token')).toBeNull()
  })

  test('means the whole name, whatever comments are in it', async () => {
    const { id, relayState } = await provider.begin()
    const response = await provider.respond(id, { user: 'root.evil' })
    // Comments are no part of what is signed, so the signature still fits.
    const commented = response
      .replace('>root.evil<', '>root<!-- x -->.evil<')
      .replace('>root.evil@', '>root<!-- x -->.evil@')
    expect(commented).not.toBe(response)
    const result = await post(commented, relayState)
    expect([undefined, `root.evil@${provider.domain}`]).toContain(await whoIs(result))
  })

  test('with a document type or entities signs nobody in', async () => {
    const types = [
      '<!DOCTYPE x>',
      '<!DOCTYPE x [<!ENTITY e "ada">]>',
      '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>',
      `<!DOCTYPE x [<!ENTITY a "${'b'.repeat(50)}">${Array.from({ length: 20 }, (_, n) => `<!ENTITY a${String(n)} "${`&a${n === 0 ? '' : String(n - 1)};`.repeat(50)}">`).join('')}]>`,
    ]
    for (const type of types) {
      await refused(async (id) => type + (await provider.respond(id)))
      await refused(
        async (id) =>
          type +
          (await provider.respond(id)).replace('>ada<', type.includes('a19') ? '>&a19;<' : '>&e;<'),
      )
    }
  })

  describe('wrapped around another', () => {
    /** Splits a response into the signed assertion and what is around it. */
    function split(response: string) {
      const found = /<saml:Assertion [\s\S]*<\/saml:Assertion>/.exec(response)
      const assertion = found?.[0] ?? ''
      const signature = /<(?:ds:)?Signature[\s\S]*<\/(?:ds:)?Signature>/.exec(assertion)?.[0] ?? ''
      expect(signature).not.toBe('')
      const evil = assertion
        .replace(signature, '')
        .replaceAll('ada', 'root')
        .replace(/ ID="[^"]+"/, ' ID="_evil"')
      const put = (content: string) => response.replace(assertion, content)
      return { assertion, signature, evil, put }
    }
    const into = (outer: string, inner: string, before = '</saml:Assertion>') =>
      outer.replace(before, inner + before)

    const WRAPPINGS: Record<string, (parts: ReturnType<typeof split>) => string> = {
      'beside it, the forged first': ({ evil, assertion, put }) => put(evil + assertion),
      'beside it, the forged last': ({ evil, assertion, put }) => put(assertion + evil),
      'the true one inside the forged': ({ evil, assertion, put }) => put(into(evil, assertion)),
      'the true one inside the forged one’s signature': ({ evil, assertion, signature, put }) => {
        const wrapped = signature.replace(/<\/((?:ds:)?Signature)>$/, (end, name: string) => {
          const prefix = name.startsWith('ds:') ? 'ds:' : ''
          const bare = assertion.replace(signature, '')
          return `<${prefix}Object>${bare}</${prefix}Object>${end}`
        })
        return put(into(evil, wrapped, '<saml:Subject>'))
      },
      'with its signature moved to the forged one': ({ evil, assertion, signature, put }) =>
        put(into(evil, signature, '<saml:Subject>') + assertion.replace(signature, '')),
      'inside extensions': ({ evil, assertion, put }) =>
        put(evil).replace(
          '<samlp:Status>',
          `<samlp:Extensions>${assertion}</samlp:Extensions><samlp:Status>`,
        ),
      'with the same id': ({ evil, assertion, put }) => {
        const id = / ID="[^"]+"/.exec(assertion)?.[0] ?? ''
        return put(evil.replace(' ID="_evil"', id) + assertion)
      },
      'around the whole response': ({ evil, put, assertion }) => {
        const whole = put(assertion)
        const outer = put(evil).replace(/ ID="[^"]+"/, ' ID="_outer"')
        return outer.replace(
          '<samlp:Status>',
          `<samlp:Extensions>${whole}</samlp:Extensions><samlp:Status>`,
        )
      },
      'with the signature at the response': ({ evil, assertion, signature, put }) =>
        put(evil).replace(
          '<samlp:Status>',
          `${signature}<samlp:Status><!-- ${String(assertion.length)} -->`,
        ),
    }
    test('signs in if it is only taken apart and put together', async () => {
      const { id, relayState } = await provider.begin()
      const { assertion, put } = split(await provider.respond(id))
      expect((await post(put(assertion), relayState)).get('access_token')).not.toBeNull()
    })

    test.for(Object.entries(WRAPPINGS))('%s', async ([, wrap]) => {
      await refused(async (id) => wrap(split(await provider.respond(id))))
    })
  })
})
