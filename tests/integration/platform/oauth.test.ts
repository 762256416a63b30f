import { createHash, randomBytes } from 'node:crypto'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { psqlAsSuperuser } from '../../support/server.mjs'
import { createToken, Platform, send, startServer } from './support.ts'

/** An answer of the token endpoint. */
interface Tokens {
  access_token: string
  refresh_token: string
}

type Fields = Record<string, string>

/** An agent that asks for access: what it sends to the page, and what it keeps. */
interface Attempt {
  fields: Fields & Record<'client_id' | 'redirect_uri' | 'state' | 'code_challenge', string>
  verifier: string
}

const CALLBACK = 'https://agent.example/callback'
const OAUTH = '/v1/oauth'
const RESOURCE_METADATA = '/.well-known/oauth-protected-resource/mcp'
const SERVER_METADATA = '/.well-known/oauth-authorization-server/v1/oauth'

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')
const random = (bytes: number) => randomBytes(bytes).toString('base64url')

/** Reads the fields of a page's form that the browser sends again. */
function hidden(html: string) {
  const inputs = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)
  const named: Fields = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }
  const plain = (text: string) => text.replace(/&(.+?);/g, (_, name: string) => named[name] ?? '?')
  return Object.fromEntries(Array.from(inputs, ([, name = '', value = '']) => [name, plain(value)]))
}

describe.skipIf(inject('own') === null)('the authorization server for agents', () => {
  let platform: Platform

  beforeAll(async () => {
    // Even this log holds no secret.
    platform = await Platform.start({
      config: '[basalt.platform]\nfailures_per_minute = 1000\n',
      env: { BASALT_LOG: 'trace' },
    })
  })

  /** Registers an agent. */
  const register = (json: object) =>
    send<{ client_id: string }>(platform.url, 'POST', `${OAUTH}/register`, { json })

  /** Registers an agent that begins to ask for access. */
  async function attempt(redirect_uri = CALLBACK, registered = redirect_uri): Promise<Attempt> {
    const json = { client_name: 'Agent', redirect_uris: [registered] }
    const { status, body } = await register(json)
    expect(status).toBe(201)
    const verifier = random(32)
    const fields = {
      client_id: body.client_id,
      redirect_uri,
      response_type: 'code',
      state: random(8),
      resource: `${platform.url}/mcp`,
      code_challenge: digest(verifier),
      code_challenge_method: 'S256',
    }
    return { fields, verifier }
  }

  /** Opens the page, or sends its form. */
  async function open(method: 'GET' | 'POST', fields: Fields) {
    const form = new URLSearchParams(fields)
    const place = `${platform.url}${OAUTH}/authorize`
    const response = await (method === 'GET'
      ? fetch(`${place}?${form.toString()}`, { redirect: 'manual' })
      : fetch(place, { method, body: form, redirect: 'manual' }))
    const location = response.headers.get('Location')
    const target = location === null ? null : new URL(location)
    const html = await response.text()
    return { status: response.status, html, headers: response.headers, target }
  }

  /** What an operator adds to the form who agrees to everything. */
  const allowed = () => ({ access: 'all', token: platform.token, answer: 'allow' })

  /** Agrees with a token of an operator, and returns the code. */
  async function agree({ fields }: Attempt, more: Fields = {}) {
    const { html, status } = await open('GET', fields)
    expect(status).toBe(200)
    const { target } = await open('POST', { ...hidden(html), ...allowed(), ...more })
    expect(target?.href.startsWith(fields.redirect_uri)).toBe(true)
    return target?.searchParams.get('code') ?? ''
  }

  const sql = (text: string) => psqlAsSuperuser(platform.server.instance, text)

  /** Sends a form to an endpoint such as `/token`. */
  const post = (place: string, fields: Fields) =>
    send<Tokens>(platform.url, 'POST', OAUTH + place, { body: new URLSearchParams(fields) })

  function exchange({ fields, verifier }: Attempt, code: string, more: Fields = {}) {
    const { client_id, redirect_uri } = fields
    const own = { client_id, redirect_uri, code_verifier: verifier }
    return post('/token', { grant_type: 'authorization_code', code, ...own, ...more })
  }

  const refresh = ({ fields: { client_id } }: Attempt, refresh_token: string) =>
    post('/token', { grant_type: 'refresh_token', refresh_token, client_id })

  /** Does all that it takes to get tokens. */
  async function connect(more: Fields = {}) {
    const one = await attempt()
    const { status, body } = await exchange(one, await agree(one, more))
    expect(status).toBe(200)
    return { one, tokens: body }
  }

  /** Returns how `/mcp` answers to a token. */
  async function status(token: string) {
    const json = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    return (await platform.request<unknown>('POST', '/mcp', { json, token })).status
  }

  /** What every redirect to the agent carries. */
  const answered = ({ state }: Attempt['fields']) => ({ state, iss: platform.url + OAUTH })
  const parameters = (target: URL | null): Fields => Object.fromEntries(target?.searchParams ?? [])

  const refusedGrant = { status: 400, body: { error: 'invalid_grant' } }

  test('is found from the challenge of /mcp, and its metadata agree with one another', async () => {
    const challenged = await platform.request('POST', '/mcp', { json: {}, token: '' })
    const challenge = challenged.headers.get('WWW-Authenticate') ?? ''
    const place = /resource_metadata="([^"]*)"/.exec(challenge)?.[1]
    expect(place).toBe(platform.url + RESOURCE_METADATA)
    const get = <T>(url: string) =>
      send<T>(platform.url, 'GET', url.replace(platform.url, ''), { token: '' })
    const resource = await get<{ authorization_servers: string[] }>(place ?? '')
    expect(resource).toMatchObject({
      status: 200,
      body: { resource: `${platform.url}/mcp`, bearer_methods_supported: ['header'] },
    })
    const issuer = resource.body.authorization_servers[0] ?? ''
    const { pathname } = new URL(issuer)
    expect(SERVER_METADATA.endsWith(pathname)).toBe(true)
    const server = await get<Record<string, unknown>>(SERVER_METADATA)
    expect(server.status).toBe(200)
    expect(server.body).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      revocation_endpoint: `${issuer}/revoke`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    })
    const limited = await get(`${RESOURCE_METADATA}?read_only=true`)
    expect(limited.body).toMatchObject({ resource: `${platform.url}/mcp?read_only=true` })
    // Which a page in a browser may read, too.
    const origin = { headers: { Origin: 'https://inspector.example' } }
    for (const path of [RESOURCE_METADATA, SERVER_METADATA]) {
      const { headers } = await send(platform.url, 'GET', path, origin)
      expect(headers.get('Access-Control-Allow-Origin')).not.toBeNull()
    }
  })

  test('gives an agent a token of its own after an operator has agreed', async () => {
    const one = await attempt()
    const asked = await open('GET', one.fields)
    expect(hidden(asked.html)).toMatchObject(one.fields)
    const agreed = await open('POST', { ...hidden(asked.html), ...allowed() })
    expect(agreed.status).toBe(303)
    expect(agreed.headers.get('Cache-Control')).toBe('no-store')
    expect(agreed.target?.href.split('?')[0]).toBe(CALLBACK)
    const { code = '', ...rest } = parameters(agreed.target)
    expect(code).toMatch(/^[\da-f]{64}$/)
    expect(rest).toEqual(answered(one.fields))
    const { status: taken, body, headers } = await exchange(one, code)
    expect(taken).toBe(200)
    expect(headers.get('Cache-Control')).toBe('no-store')
    expect(body).toEqual({
      access_token: expect.stringMatching(/^sbp_/) as string,
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.any(String) as string,
    })
    expect(body.access_token).not.toBe(platform.token)
    expect(await status(body.access_token)).toBe(200)
    expect(await status(body.refresh_token)).toBe(401)
    const { access_token: token } = body
    expect((await platform.query('select 1 as one', { token })).body).toEqual([{ one: 1 }])
  })

  test('shows who asks and where the answer goes, on a page that nobody frames', async () => {
    const client_name = `<script>alert(1)</script> & "Co" 'x'`
    const redirect_uris = ['https://callback.example/path?a="b"', CALLBACK]
    const { client_id } = (await register({ client_name, redirect_uris })).body
    const [redirect_uri = ''] = redirect_uris
    const { fields } = await attempt()
    const state = '"><img src=x onerror=alert(1)>'
    const asked = { ...fields, client_id, redirect_uri, state }
    const { status, html, headers } = await open('GET', asked)
    expect(status).toBe(200)
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;Co&quot; &#39;x&#39;')
    expect(html).not.toMatch(/<script|<img/i)
    expect(html).toMatch(/<code>callback\.example<\/code>/)
    expect(hidden(html)).toMatchObject({ state })
    expect(headers.get('Content-Type')).toMatch(/^text\/html/)
    const policy = headers.get('Content-Security-Policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('script-src')
    expect(headers.get('X-Frame-Options')).toBe('DENY')
    expect(headers.get('Referrer-Policy')).toBe('no-referrer')
    expect(headers.get('Cache-Control')).toBe('no-store')
  })

  test('exchanges a refresh token once, and what was before is worth nothing', async () => {
    const { one, tokens } = await connect()
    const other = await attempt()
    expect(await refresh(other, tokens.refresh_token)).toMatchObject(refusedGrant)
    const renewed = await refresh(one, tokens.refresh_token)
    expect(renewed).toMatchObject({ status: 200, body: { expires_in: 3600 } })
    expect(renewed.body.refresh_token).not.toBe(tokens.refresh_token)
    expect(await status(renewed.body.access_token)).toBe(200)
    expect(await status(tokens.access_token)).toBe(401)
    // Somebody has stolen a token that is used twice.
    expect(await refresh(one, tokens.refresh_token)).toMatchObject(refusedGrant)
    expect(await status(renewed.body.access_token)).toBe(401)
    const again = await connect()
    const all = await Promise.all(
      Array.from({ length: 5 }, () => refresh(again.one, again.tokens.refresh_token)),
    )
    expect(all.filter((answer) => answer.status === 200)).toHaveLength(1)
  })

  test('exchanges a code once, and only in its ten minutes', async () => {
    const one = await attempt()
    const code = await agree(one)
    const all = await Promise.all(Array.from({ length: 5 }, () => exchange(one, code)))
    const given = all.filter((answer) => answer.status === 200)
    expect(given).toHaveLength(1)
    expect(await exchange(one, code)).toMatchObject(refusedGrant)
    expect(await status(given[0]?.body.access_token ?? '')).toBe(401)
    const late = await attempt()
    const old = await agree(late)
    await sql(`update basalt_platform.oauth_grants set created_at = now() - interval '11 minutes'
      where client = '${late.fields.client_id}'`)
    expect(await exchange(late, old)).toMatchObject(refusedGrant)
    expect(await exchange(late, 'f'.repeat(64))).toMatchObject(refusedGrant)
  })

  test('exchanges a code only with what belongs to it', async () => {
    const other = await attempt()
    const wrong: Fields[] = [
      { code_verifier: random(32) },
      { code_verifier: '' },
      { client_id: other.fields.client_id },
      { client_id: '' },
      { redirect_uri: 'https://agent.example/other' },
    ]
    for (const more of wrong) {
      const one = await attempt()
      const code = await agree(one)
      expect(await exchange(one, code, more)).toMatchObject(refusedGrant)
      // Whoever has guessed wrong has no second try.
      expect(await exchange(one, code)).toMatchObject(refusedGrant)
    }
    const one = await attempt()
    const code = await agree(one)
    const plain = { code_verifier: one.fields.code_challenge }
    expect(await exchange(one, code, plain)).toMatchObject(refusedGrant)
    for (const grant_type of ['password', 'client_credentials', ''])
      expect(await exchange(one, code, { grant_type })).toMatchObject({
        status: 400,
        body: { error: 'unsupported_grant_type' },
      })
  })

  test.each(['access_token', 'refresh_token'] as const)(
    'ends what an agent has when it revokes its %s',
    async (which) => {
      const { one, tokens } = await connect()
      expect(await status(tokens.access_token)).toBe(200)
      const { client_id } = one.fields
      expect((await post('/revoke', { token: tokens[which], client_id })).status).toBe(204)
      expect(await status(tokens.access_token)).toBe(401)
      expect(await refresh(one, tokens.refresh_token)).toMatchObject(refusedGrant)
      // It says nothing about tokens that it does not know, and spares those of operators.
      expect((await post('/revoke', { token: tokens[which] })).status).toBe(204)
      expect((await post('/revoke', { token: platform.token })).status).toBe(204)
      expect(await status(platform.token)).toBe(200)
    },
  )

  test('ends what an agent has when the token of the operator is revoked', async () => {
    const token = await platform.createToken('--name', 'granting')
    const { one, tokens } = await connect({ token })
    const waiting = await attempt()
    const code = await agree(waiting, { token })
    expect(await platform.basalt('token', 'list')).toMatch(/agent: Agent/)
    expect(await status(tokens.access_token)).toBe(200)
    await platform.basalt('token', 'revoke', 'granting')
    expect(await status(tokens.access_token)).toBe(401)
    expect(await refresh(one, tokens.refresh_token)).toMatchObject(refusedGrant)
    expect(await exchange(waiting, code)).toMatchObject(refusedGrant)
  })

  test('ends what an agent has when the token of the operator expires', async () => {
    const token = await platform.createToken('--name', 'ending', '--expires', '1 hour')
    const { one, tokens } = await connect({ token })
    await sql("update basalt_platform.access_tokens set expires_at = now() where name = 'ending'")
    expect(await status(token)).toBe(401)
    expect(await status(tokens.access_token)).toBe(401)
    expect(await refresh(one, tokens.refresh_token)).toMatchObject(refusedGrant)
  })

  test('gives an agent no more than the operator has, and has chosen', async () => {
    const write = (token: string) =>
      platform.query('create table public.by_agent (a int)', { token })
    const read = (token: string) => platform.project('GET', '/functions', { token })
    const chosen = (await connect({ access: 'read' })).tokens.access_token
    expect((await read(chosen)).status).toBe(200)
    expect((await write(chosen)).status).toBe(403)
    const token = await platform.createToken('--scopes', 'read-only')
    const limited = (await connect({ token, access: 'all' })).tokens
    expect((await read(limited.access_token)).status).toBe(200)
    expect((await write(limited.access_token)).status).toBe(403)
    // Whatever else the form says.
    const sly = (await connect({ token, scope: 'all', scopes: 'all', access: '' })).tokens
    expect((await write(sly.access_token)).status).toBe(403)
    expect((await write(platform.token)).status).toBe(201)
  })

  test('gives an agent that may only read nothing of an operator who may not read', async () => {
    const token = await platform.createToken('--scopes', 'edge_functions_write')
    const one = await attempt()
    const form = { ...one.fields, ...allowed(), token, access: 'read' }
    const { target } = await open('POST', form)
    const { status, body } = await exchange(one, target?.searchParams.get('code') ?? '')
    // Whether it gets a token without scopes or none, it reaches nothing with it.
    const own = status === 200 ? body.access_token : 'none'
    expect([401, 403]).toContain((await platform.query('select 1', { token: own })).status)
    const listed = await platform.project('GET', '/functions', { token: own })
    expect([401, 403]).toContain(listed.status)
  })

  test('takes no token that is wrong, or an agent’s', async () => {
    const { tokens } = await connect()
    const one = await attempt()
    for (const token of ['', 'nonsense', `sbp_${'0'.repeat(40)}`, tokens.access_token]) {
      const { html, target } = await open('POST', { ...one.fields, ...allowed(), token })
      expect({ token, target }).toEqual({ token, target: null })
      expect(html).toContain('role="alert"')
      expect(hidden(html)).toMatchObject(one.fields)
      if (token !== '') expect(html).not.toContain(token)
    }
    const grants = await sql(
      `select count(*) from basalt_platform.oauth_grants where client = '${one.fields.client_id}'`,
    )
    expect(grants.trim()).toBe('0')
  })

  test('tells the agent when the operator refuses', async () => {
    const { fields } = await attempt()
    const answers: Fields[] = [{ answer: 'deny', token: platform.token }, { answer: 'deny' }, {}]
    for (const more of answers) {
      const { target } = await open('POST', { ...fields, ...more })
      expect(parameters(target)).toEqual({ ...answered(fields), error: 'access_denied' })
    }
  })

  test('sends a request that is wrong back with an error', async () => {
    const { fields } = await attempt()
    for (const [more, error] of [
      [{ code_challenge: '' }, 'invalid_request'],
      [{ code_challenge: 'short' }, 'invalid_request'],
      [{ code_challenge_method: '' }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
    ] as const)
      for (const method of ['GET', 'POST'] as const) {
        const { target } = await open(method, { ...fields, ...allowed(), ...more })
        expect(parameters(target)).toEqual({ ...answered(fields), error })
      }
  })

  test('sends nobody to an address that the agent has not registered', async () => {
    const { fields } = await attempt()
    const foreign = [
      'https://evil.example/callback',
      `${CALLBACK}/more`,
      `${CALLBACK}?a=b`,
      'https://agent.example:444/callback',
      'https://agent.example@evil.example/callback',
      '',
    ]
    const unknown = [crypto.randomUUID(), '', "' or true --"]
    for (const more of [
      ...foreign.map((redirect_uri): Fields => ({ redirect_uri })),
      ...unknown.map((client_id): Fields => ({ client_id })),
    ])
      for (const method of ['GET', 'POST'] as const) {
        const { status, target, html } = await open(method, { ...fields, ...allowed(), ...more })
        expect({ more, status, target }).toEqual({ more, status: 400, target: null })
        expect(html).not.toContain('<form')
      }
  })

  test('calls back programs on this machine at any port, and at their own schemes', async () => {
    for (const [registered, asked] of [
      ['http://127.0.0.1/callback', 'http://127.0.0.1:43110/callback'],
      ['http://localhost:1234/callback', 'http://localhost:43110/callback'],
      ['http://[::1]/callback', 'http://[::1]:43110/callback'],
      ['cursor://anysphere.test/callback', 'cursor://anysphere.test/callback'],
      ['https://agent.example/cb?kept=yes', 'https://agent.example/cb?kept=yes'],
    ] as const) {
      const one = await attempt(asked, registered)
      expect((await exchange(one, await agree(one))).status).toBe(200)
    }
    const { fields } = await attempt('http://127.0.0.1/callback')
    for (const redirect_uri of ['http://127.0.0.1:43110/other', 'http://localhost/callback'])
      expect((await open('GET', { ...fields, redirect_uri })).status).toBe(400)
  })

  test('registers agents that can be called back safely, and no others', async () => {
    const registered = await register({ redirect_uris: [CALLBACK], client_name: 'Agent' })
    expect(registered.status).toBe(201)
    expect(registered.body).toMatchObject({
      client_id: expect.any(String) as string,
      client_name: 'Agent',
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: 'none',
    })
    expect(registered.body).not.toHaveProperty('client_secret')
    const ten = Array.from({ length: 10 }, (_, number) => `${CALLBACK}/${String(number)}`)
    expect((await register({ redirect_uris: ten })).status).toBe(201)
    for (const redirect_uris of [
      [],
      [...ten, CALLBACK],
      ['http://agent.example/callback'],
      ['http://127.0.0.1.evil.example/callback'],
      ['http://localhost@evil.example/callback'],
      ['javascript:alert(1)'],
      ['JavaScript:alert(1)'],
      ['java\nscript:alert(1)'],
      ['data:text/html,x'],
      ['file:///etc/passwd'],
      ['https://agent.example/#fragment'],
      [`https://agent.example/${'a'.repeat(2000)}`],
      ['callback'],
      [CALLBACK, 'javascript:alert(1)'],
    ])
      expect([redirect_uris, await register({ redirect_uris })]).toMatchObject([
        redirect_uris,
        { status: 400, body: { error: 'invalid_redirect_uri' } },
      ])
    for (const json of [{}, [], { redirect_uris: CALLBACK }, { redirect_uris: [1] }])
      expect(await register(json)).toMatchObject({
        status: 400,
        body: { error: 'invalid_client_metadata' },
      })
    const large = await register({ redirect_uris: [CALLBACK], logo_uri: 'a'.repeat(64 << 10) })
    expect([400, 413]).toContain(large.status)
  })

  test('writes no code and no token to the log, but who has agreed to what', async () => {
    const one = await attempt()
    const code = await agree(one)
    const { body } = await exchange(one, code)
    await expect.poll(() => platform.log).toContain('oauth.grant')
    await status(body.access_token)
    const { access_token, refresh_token } = body
    for (const secret of [platform.token, code, one.verifier, access_token, refresh_token])
      expect(platform.log).not.toContain(secret)
    const { body: rows } = await platform.query(
      `select detail->>'client' as client from basalt_platform.audit_log
        where action = 'oauth.grant' order by id desc limit 1`,
    )
    expect(rows).toEqual([{ client: one.fields.client_id }])
  })
})

describe.skipIf(inject('own') === null)('without the platform interface', () => {
  test('agents find no authorization server', async () => {
    const server = await startServer({ config: '[basalt.platform]\naccess = "off"\n' })
    await createToken(server)
    const status = async (method: string, place: string) =>
      (await send(server.access.url, method, place)).status
    for (const place of [RESOURCE_METADATA, SERVER_METADATA, `${OAUTH}/authorize`])
      expect([place, await status('GET', place)]).toEqual([place, 404])
    const posted = ['/register', '/authorize', '/token', '/revoke'].map((name) => OAUTH + name)
    for (const place of [...posted, '/mcp'])
      expect([place, await status('POST', place)]).toEqual([place, 404])
    await server.stop()
  })
})
