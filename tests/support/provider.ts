import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, get as getSecurely } from 'node:https'
import type { AddressInfo } from 'node:net'

import { authority } from './certificate.ts'

import { CLIENT } from './auth.mjs'

/** Where Keycloak has its endpoints below a realm. */
const ENDPOINTS = '/protocol/openid-connect'

/** How the client shows who it is. Source: RFC 6749, section 2.3.1. */
const CREDENTIALS = `Basic ${btoa([CLIENT.id, CLIENT.secret].map(encodeURIComponent).join(':'))}`

type Claims = Record<string, unknown>

interface Grant {
  email: string
  redirectUri: string
}

/**
 * An OpenID provider of the tests' own, laid out as a Keycloak realm. Whoever comes to its page names an address and
 * is taken for its owner; an address that begins with `unverified` counts as not verified.
 */
export class Provider {
  private readonly key: KeyObject
  private readonly jwk: object
  private readonly grants = new Map<string, Grant>()
  private readonly tokens = new Map<string, string>()

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    /** The realm's URL, which is the issuer. */
    readonly url: string,
  ) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.key = privateKey
    this.jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'first', alg: 'RS256', use: 'sig' }
  }

  /** Starts one on a free port of this machine; with TLS where a certificate of `localhost` is given. */
  static async start(certificate?: { cert: Buffer; key: Buffer }): Promise<Provider> {
    const server = certificate === undefined ? createServer() : createSecureServer(certificate)
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    const { port } = server.address() as AddressInfo
    const scheme = certificate === undefined ? 'http' : 'https'
    const provider = new Provider(server, `${scheme}://localhost:${port}`)
    server.on('request', (request, response) => void provider.respond(request, response))
    return provider
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  /** Returns the subject under which the owner of `email` is known. */
  static subject(email: string): string {
    return createHash('sha256').update(email).digest('hex').slice(0, 32)
  }

  private idToken(email: string, claims: Claims = {}): string {
    const now = Math.floor(Date.now() / 1000)
    const usual = { iss: this.url, aud: CLIENT.id, iat: now, exp: now + 3600, ...profile(email) }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signed = `${part({ alg: 'RS256', kid: 'first' })}.${part({ ...usual, ...claims })}`
    return `${signed}.${sign('sha256', Buffer.from(signed), this.key).toString('base64url')}`
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    const path = url.pathname.replace(ENDPOINTS, '')
    if (path === '/auth') {
      response.setHeader('Content-Type', 'text/html').end(page(url.searchParams))
    } else if (path === '/login') {
      response.writeHead(302, { Location: this.grant(url.searchParams) }).end()
    } else {
      const form = new URLSearchParams(await body(request))
      const [status, document] = this.document(url, request, form)
      response.writeHead(status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(document))
    }
  }

  private document(
    { pathname, searchParams: parameters }: URL,
    request: IncomingMessage,
    form: URLSearchParams,
  ): [number, object] {
    switch (pathname.replace(ENDPOINTS, '')) {
      case '/.well-known/openid-configuration':
        return [200, this.discovery()]
      case '/id-token':
        return [
          200,
          { id_token: this.idToken(parameters.get('email') ?? '', claimsIn(parameters)) },
        ]
      case '/certs':
        return [200, { keys: [this.jwk] }]
      case '/token':
        return this.token(request, form)
      case '/userinfo': {
        const email = this.tokens.get(request.headers.authorization?.replace('Bearer ', '') ?? '')
        return email === undefined ? [401, { error: 'invalid_token' }] : [200, profile(email)]
      }
      default:
        return [404, {}]
    }
  }

  private discovery() {
    const at = (path: string) => `${this.url}${ENDPOINTS}${path}`
    return {
      issuer: this.url,
      authorization_endpoint: at('/auth'),
      token_endpoint: at('/token'),
      userinfo_endpoint: at('/userinfo'),
      jwks_uri: at('/certs'),
    }
  }

  private grant(parameters: URLSearchParams): string {
    const code = randomUUID()
    const redirectUri = parameters.get('redirect_uri') ?? ''
    this.grants.set(code, { email: parameters.get('email') ?? '', redirectUri })
    const back = new URL(redirectUri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', parameters.get('state') ?? '')
    return back.href
  }

  /** Exchanges a code, which counts once, for the client and the address that it was made for. */
  private token(request: IncomingMessage, form: URLSearchParams): [number, object] {
    const code = form.get('code') ?? ''
    const grant = this.grants.get(code)
    this.grants.delete(code)
    if (request.headers.authorization !== CREDENTIALS) return [401, { error: 'invalid_client' }]
    const isRight = grant?.redirectUri === form.get('redirect_uri')
    if (grant === undefined || !isRight) return [400, { error: 'invalid_grant' }]
    const token = randomUUID()
    this.tokens.set(token, grant.email)
    const idToken = this.idToken(grant.email)
    return [200, { access_token: token, token_type: 'bearer', expires_in: 300, id_token: idToken }]
  }
}

/** Signs in as the owner of `email` on the page at `authorizeUrl`; returns the provider's redirect. */
export async function signInAt(authorizeUrl: string, email: string): Promise<string> {
  const form = new URL(authorizeUrl)
  form.pathname = `${ENDPOINTS}/login`
  form.searchParams.set('email', email)
  return (await ask(form)).location
}

/**
 * Returns an ID token of the provider at `url` for the owner of `email`, good for an hour, as an app on a phone gets
 * one from its operating system. `claims` replace the usual ones.
 */
export async function idTokenOf(url: string, email: string, claims: Claims = {}): Promise<string> {
  const form = new URLSearchParams({ email, claims: JSON.stringify(claims) })
  const { text } = await ask(new URL(`${url}/id-token?${form.toString()}`))
  return (JSON.parse(text) as { id_token: string }).id_token
}

/** Sends a request that trusts the tests' authority, which `fetch` cannot. */
function ask(url: URL): Promise<{ location: string; text: string }> {
  return new Promise((resolve, reject) => {
    const onResponse = (response: IncomingMessage) => {
      const { location = '' } = response.headers
      body(response).then((text) => resolve({ location, text }), reject)
    }
    const request =
      url.protocol === 'https:'
        ? getSecurely(url, { ca: authority }, onResponse)
        : get(url, onResponse)
    request.once('error', reject)
  })
}

function claimsIn(form: URLSearchParams): Claims {
  return JSON.parse(form.get('claims') ?? '{}') as Claims
}

function profile(email: string) {
  const [name = ''] = email.split('@')
  const isVerified = !email.startsWith('unverified')
  return { sub: Provider.subject(email), email, email_verified: isVerified, name }
}

async function body(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

function page(parameters: URLSearchParams): string {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const hidden = Array.from(
    parameters,
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  )
  return `<!doctype html><title>Sign in</title>
    <form action="${ENDPOINTS}/login">${hidden.join('')}
    <label>Address <input name="email"></label><button>Sign in</button></form>`
}
