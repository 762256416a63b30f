import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { psqlAsSuperuser } from '../../support/server.mjs'
import { basalt, createToken, Platform, saying, send, startServer } from './support.ts'

const run = promisify(execFile)

/** A token that has the form of one. */
const forged = () => `sbp_${randomBytes(20).toString('hex')}`

describe.skipIf(inject('own') === null)('access to the platform interface', () => {
  let platform: Platform

  beforeAll(async () => {
    // Even this log holds no secret.
    platform = await Platform.start({
      env: { BASALT_LOG: 'trace', BASALT_DATABASE_LISTEN: '127.0.0.1:0' },
    })
  })

  /** What a request with a header `Authorization` is answered. */
  const with_ = (authorization: string) => {
    const headers = authorization === '' ? undefined : { Authorization: authorization }
    return platform.request('GET', '/v1/projects', { token: '', ...(headers && { headers }) })
  }

  test('takes a token that was made on the command line', async () => {
    expect(platform.token).toMatch(/^sbp_[a-f0-9]{40}$/)
    expect(await platform.request<unknown[]>('GET', '/v1/projects')).toMatchObject({
      status: 200,
      body: [{ ref: platform.ref, name: 'platform', status: 'ACTIVE_HEALTHY' }],
    })
  })

  test('takes nothing else', async () => {
    const { anonKey, serviceKey } = platform.server.access
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Bearer sbp_',
      `Bearer ${platform.token.slice(0, -1)}`,
      `Bearer ${platform.token}0`,
      `Bearer ${platform.token.toUpperCase()}`,
      `Bearer sbp_${platform.token}`,
      `Basic ${Buffer.from(`${platform.token}:`).toString('base64')}`,
      platform.token,
      `Bearer ${forged()}`,
      `Bearer ${anonKey}`,
      `Bearer ${serviceKey}`,
    ]) {
      const { status, body } = await with_(authorization)
      expect({ authorization, status, body }).toEqual({
        authorization,
        status: 401,
        body: { message: 'Unauthorized' },
      })
    }
  })

  test('tells nobody without a token whether there is a project or a path', async () => {
    for (const [method, place] of [
      ['GET', `/v1/projects/${platform.ref}`],
      ['GET', '/v1/projects/aaaaaaaaaaaaaaaaaaaa'],
      ['GET', '/v1/nothing'],
      ['POST', `/v1/projects/${platform.ref}/database/query`],
      ['GET', `/v2/projects/${platform.ref}/config`],
      ['POST', '/mcp'],
      ['GET', '/pg/tables'],
    ] as const)
      expect((await platform.request(method, place, { token: '' })).status).toBe(401)
  })

  test('ends for a token that is revoked while it is in use', async () => {
    const token = await platform.createToken('--name', 'to be revoked')
    const ask = () => platform.request('GET', '/v1/projects', { token })
    expect((await ask()).status).toBe(200)
    const statuses: number[] = []
    const asking = (async () => {
      do statuses.push((await ask()).status)
      while (statuses.at(-1) === 200)
    })()
    expect(await platform.basalt('token', 'revoke', 'to be revoked')).toContain('Revoked')
    expect(await ask()).toMatchObject({ status: 401, body: { message: 'Unauthorized' } })
    await asking
    expect(statuses.at(-1)).toBe(401)
  })

  test('ends for a token that expires', async () => {
    const token = await platform.createToken('--expires', '3 seconds')
    const ask = async () => (await platform.request('GET', '/v1/projects', { token })).status
    expect(await ask()).toBe(200)
    await expect.poll(ask, { interval: 500 }).toBe(401)
    const longer = await platform.createToken('--expires', '12 hours')
    expect((await platform.request('GET', '/v1/projects', { token: longer })).status).toBe(200)
  })

  test('is described by the commands that make, list and revoke tokens', async () => {
    const token = await platform.createToken('--name', 'laptop', '--scopes', 'projects_read')
    const listed = await platform.basalt('token', 'list')
    expect(listed).toContain(token.slice(0, 10))
    expect(listed).toMatch(/laptop.*may: projects_read/)
    expect(listed).not.toContain(token.slice(0, 20))
    await platform.basalt('token', 'revoke', token.slice(0, 10))
    expect(await platform.basalt('token', 'list')).not.toContain('laptop')
    await expect(platform.basalt('token', 'revoke', 'laptop')).rejects.toThrow(
      /there is no access token/,
    )
    await expect(platform.createToken('--scopes', 'database_reed')).rejects.toThrow(/database_reed/)
    await expect(platform.createToken('--expires', 'soon')).rejects.toThrow(/--expires/)
  })

  test('have names that can be printed, and end later than at once', async () => {
    for (const name of ['', '  ', 'a\nb', 'a\u001b[31mb', 'a'.repeat(101)])
      await expect(platform.createToken('--name', name)).rejects.toThrow(/--name: expected/)
    for (const time of ['0s', '-1 day'])
      await expect(platform.createToken(`--expires=${time}`)).rejects.toThrow(/--expires: expected/)
    // As an older release has taken it.
    await psqlAsSuperuser(
      platform.server.instance,
      `insert into basalt_platform.access_tokens (name, hash, hint)
         values (E'odd\\x1b[31m', '\\x00', 'sbp_odd')`,
    )
    const listed = await platform.basalt('token', 'list')
    expect(listed).toMatch(/odd.\[31m/)
    expect(listed).not.toContain('\u001b')
    await platform.basalt('token', 'revoke', 'sbp_odd')
  })

  test('are revoked together if they have one name', async () => {
    for (let count = 0; count < 2; count++) await platform.createToken('--name', 'twins')
    expect(await platform.basalt('token', 'revoke', 'twins')).toContain('Revoked 2 tokens')
  })

  describe('with scopes', () => {
    test('reads with those that read, and changes nothing', async () => {
      const token = await platform.createToken('--scopes', 'read-only')
      for (const place of [
        '',
        '/api-keys',
        '/functions',
        '/secrets',
        '/database/migrations',
        '/config/auth',
        '/advisors/security',
        '/types/typescript',
        '/health?services=db',
      ])
        expect((await platform.project('GET', place, { token })).status).toBe(200)
      const query = await platform.query('select 1 as one', { read_only: true, token })
      expect(query).toMatchObject({ status: 201, body: [{ one: 1 }] })
      for (const [method, place, json] of [
        ['POST', '/database/query', { query: 'select 1' }],
        ['POST', '/database/query', { query: 'select 1', read_only: false }],
        ['POST', '/database/query', { query: 'select 1', read_only: null }],
        ['POST', '/database/migrations', { query: 'select 1' }],
        ['PUT', '/database/migrations', { query: 'select 1' }],
        ['DELETE', '/database/migrations?gte=1'],
        ['PATCH', '/database/migrations/1', { name: 'x' }],
        ['PATCH', '', { name: 'other' }],
        ['POST', '/secrets', [{ name: 'A', value: 'b' }]],
        ['DELETE', '/secrets', ['A']],
        ['POST', '/api-keys', { type: 'secret', name: 'mine' }],
        ['GET', '/api-keys?reveal=true'],
        ['PATCH', '/api-keys/anon', { name: 'mine' }],
        ['DELETE', '/api-keys/anon'],
        ['PUT', '/api-keys/legacy?enabled=false'],
        ['POST', '/functions', { slug: 'a', name: 'a', body: saying('a') }],
        ['PUT', '/functions', []],
        ['PATCH', '/functions/a', { name: 'b' }],
        ['DELETE', '/functions/a'],
        ['POST', '/cli/login-role', { read_only: false }],
        ['DELETE', '/cli/login-role'],
        ['PATCH', '/postgrest', {}],
        ['PATCH', '/config/auth', {}],
        ['PATCH', '/config/storage', {}],
        ['PUT', '/config/database/postgres', {}],
        ['PUT', '/ssl-enforcement', { requestedConfig: { database: true } }],
        ['POST', '/network-restrictions/apply', {}],
        ['PATCH', '/network-restrictions', {}],
        ['DELETE', '/network-bans', { ipv4_addresses: [] }],
        ['POST', '/database/webhooks/enable'],
      ] as [string, string, unknown?][]) {
        const { status, body } = await platform.project(method, place, {
          token,
          ...(json === undefined ? {} : { json }),
        })
        expect({ method, place, status, body }).toMatchObject({ method, place, status: 403 })
        expect(body.message).toMatch(/^Forbidden/)
      }
      const form = new FormData()
      form.append('metadata', JSON.stringify({ name: 'a', entrypoint_path: 'index.ts' }))
      form.append('file', new Blob([saying('a')]), 'index.ts')
      const deployed = await platform.project('POST', '/functions/deploy?slug=a', {
        token,
        body: form,
      })
      expect(deployed.status).toBe(403)
      expect((await platform.project<unknown[]>('GET', '/functions')).body).toEqual([])
    })

    test('does what its scopes say and nothing else', async () => {
      const token = await platform.createToken('--scopes', 'database_read,projects_read')
      expect((await platform.query('select 1', { read_only: true, token })).status).toBe(201)
      const route = { json: { query: 'select 1' }, token }
      expect((await platform.project('POST', '/database/query/read-only', route)).status).toBe(201)
      expect((await platform.query('select 1', { token })).status).toBe(403)
      expect((await platform.request('GET', '/v1/projects', { token })).status).toBe(200)
      expect((await platform.project('GET', '/secrets', { token })).status).toBe(403)
      expect((await platform.request('GET', '/v1/organizations', { token })).status).toBe(403)
      const reader = { json: { read_only: true }, token }
      expect((await platform.project('POST', '/cli/login-role', reader)).status).toBe(201)
      const writer = { json: { read_only: false }, token }
      expect((await platform.project('POST', '/cli/login-role', writer)).status).toBe(403)
    })

    test('sees secret keys only with the scope for them', async () => {
      const created = await platform.project<{ api_key: string }>('POST', '/api-keys?reveal=true', {
        json: { type: 'secret', name: 'of_another' },
      })
      expect(created.status).toBe(201)
      const status = await platform.server.status()
      const secrets = [status.SECRET_KEY, status.SERVICE_ROLE_KEY, created.body.api_key]
      const blind = await platform.createToken('--scopes', 'api_gateway_keys_read')
      const masked = await platform.project<unknown>('GET', '/api-keys', { token: blind })
      expect(masked.status).toBe(200)
      for (const secret of secrets) expect(JSON.stringify(masked.body)).not.toContain(secret)
      expect(
        (await platform.project('GET', '/api-keys?reveal=true', { token: blind })).status,
      ).toBe(403)
      const seeing = await platform.createToken(
        '--scopes',
        'api_gateway_keys_read,api_gateway_keys_secret_read',
      )
      const shown = await platform.project<unknown>('GET', '/api-keys?reveal=true', {
        token: seeing,
      })
      expect(shown.status).toBe(200)
      for (const secret of secrets) expect(JSON.stringify(shown.body)).toContain(secret)
      const hidden = await platform.project<unknown>('GET', '/api-keys', { token: seeing })
      expect(JSON.stringify(hidden.body)).not.toContain(created.body.api_key)
    })
  })

  test('refuses what is no project, no path or no body', async () => {
    for (const [place, status] of [
      ['/v1/projects/aaaaaaaaaaaaaaaaaaaa', 404],
      ['/v1/projects/aaaaaaaaaaaaaaaaaaaa/functions', 404],
      ['/v1/projects/aaaaaaaaaaaaaaaaaaaa/nothing', 404],
      [`/v1/projects/${platform.ref.toUpperCase()}`, 400],
      [`/v1/projects/${platform.ref}x/functions`, 400],
      [`/v1/projects/${platform.ref.slice(1)}/secrets`, 400],
      ['/v1/projects/%27%20or%20true--/api-keys', 400],
      [`/v1/projects/${platform.ref}/nothing`, 404],
      [`/v1/projects/${platform.ref}/functions/nobody`, 404],
      ['/v1/organizations/nobody', 404],
      ['/v1/nothing', 404],
      ['/v2/nothing', 404],
      ['/v1', 404],
      [`/v1/projects/${platform.ref}/api-keys?reveal=perhaps`, 400],
    ] as const) {
      const answer = await platform.request('GET', place)
      expect({ place, status: answer.status }).toEqual({ place, status })
      expect(answer.body.message).toEqual(expect.any(String))
    }
    const headers = { 'Content-Type': 'application/json' }
    for (const [place, body] of [
      ['/database/query', '{'],
      ['/database/query', ''],
      ['/database/query', '[]'],
      ['/database/query', '{}'],
      ['/database/query', '{"query": ""}'],
      ['/database/query', '{"query": {"a": 1}}'],
      ['/database/query', '{"query": "select 1", "parameters": "1"}'],
      ['/database/query', '{"query": "select 1", "read_only": "perhaps"}'],
      ['/secrets', '{"name": "A", "value": "b"}'],
      ['/secrets', '[{"name": "A"}]'],
      ['/secrets', '[{"name": "SUPABASE_URL", "value": "b"}]'],
      ['/secrets', '[{"name": "", "value": "b"}]'],
      ['/secrets', '[{"name": "A=B", "value": "b"}]'],
      ['/api-keys', '{"type": "secret"}'],
      ['/api-keys', '{"type": "legacy", "name": "another"}'],
      ['/api-keys', '{"type": "secret", "name": "No!"}'],
      [
        '/api-keys',
        '{"type": "secret", "name": "writer", "secret_jwt_template": {"role": "postgres"}}',
      ],
      ['/cli/login-role', '{}'],
      ['/database/migrations', '{"name": "nothing"}'],
      ['/database/migrations', '{"query": ""}'],
    ] as const) {
      const answer = await platform.project('POST', place, { body, headers })
      expect({ place, body, status: answer.status }).toEqual({ place, body, status: 400 })
      expect(answer.body.message).toEqual(expect.any(String))
    }
    const secrets = await platform.project<unknown[]>('GET', '/secrets')
    expect(secrets.body).toEqual([])
  })

  test('is no business of the roles of the API', async () => {
    const { anonKey, serviceKey, url } = platform.server.access
    for (const apikey of [anonKey, serviceKey]) {
      const headers = { apikey, 'Accept-Profile': 'basalt_platform' }
      expect((await fetch(`${url}/rest/v1/access_tokens`, { headers })).status).toBe(406)
    }
    for (const role of ['anon', 'authenticated', 'service_role', 'authenticator', 'public']) {
      const rights = await platform.server.psql(`
        select has_schema_privilege('${role}', 'basalt_platform', 'usage') or
          has_schema_privilege('${role}', 'basalt_platform', 'create') or
          bool_or(has_table_privilege('${role}', oid, 'select, insert, update, delete, truncate'))
          from pg_class where relnamespace = 'basalt_platform'::regnamespace and relkind = 'r'`)
      expect([role, rights]).toEqual([role, 'f'])
      if (role === 'public') continue
      await expect(
        platform.server.psql(`set role ${role}; select * from basalt_platform.access_tokens`),
      ).rejects.toThrow(/permission denied/)
    }
  })

  test('keeps no token, key, password or secret as text', async () => {
    const value = `hush-${randomBytes(12).toString('hex')}`
    const token = await platform.createToken('--name', 'hidden')
    await platform.project('POST', '/secrets', { json: [{ name: 'HIDDEN', value }], token })
    const listed = await platform.project<{ name: string; value: string }[]>('GET', '/secrets')
    expect(listed.body.find(({ name }) => name === 'HIDDEN')?.value).toBe(
      createHash('sha256').update(value).digest('hex'),
    )
    const key = await platform.project<{ api_key: string }>('POST', '/api-keys?reveal=true', {
      json: { type: 'secret', name: 'hidden_key' },
      token,
    })
    const login = await platform.project<{ password: string }>('POST', '/cli/login-role', {
      json: { read_only: true },
      token,
    })
    expect([key.status, login.status]).toEqual([201, 201])
    await platform.request('GET', '/v1/projects', { token: forged() })
    await psqlAsSuperuser(platform.server.instance, 'checkpoint')
    const secrets = [platform.token, token, value, key.body.api_key, login.body.password]
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(20)
      const flags = ['-rlaF', '-e', secret, platform.server.dataDir]
      // Which ends with 1 where nothing is found.
      const found = await run('grep', flags).catch((error: unknown) => error as { code: number })
      expect(found).toMatchObject({ code: 1 })
      expect(platform.log).not.toContain(secret)
    }
    // The log is there, and says who has done what.
    await expect.poll(() => platform.log).toContain('secrets.set')
  })

  test('is held up after too many wrong tokens, except with a valid one', async () => {
    const known = await platform.createToken('--name', 'known')
    const ask = async (token: string) =>
      (await platform.request('GET', '/v1/projects', { token })).status
    expect(await ask(known)).toBe(200)
    const statuses: number[] = []
    for (let number = 0; number < 100; number++) statuses.push(await ask(forged()))
    expect(statuses.at(-1)).toBe(429)
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
    expect((await platform.request('GET', '/v1/projects', { token: '' })).status).toBe(429)
    expect(await ask(known)).toBe(200)
    expect(await ask(platform.token)).toBe(200)
    // Nobody has presented it before.
    expect(await ask(await platform.createToken('--name', 'fresh'))).toBe(200)
    // Other interfaces are not concerned.
    const health = await fetch(`${platform.url}/auth/v1/health`, {
      headers: { apikey: platform.server.access.anonKey },
    })
    expect(health.status).toBe(200)
  })
})

describe.skipIf(inject('own') === null)('where the platform interface is', () => {
  const status = async (url: string, token = '') =>
    (await send(url, 'GET', '/v1/projects', { token })).status

  test('nowhere, if it is off', async () => {
    const server = await startServer({ config: '[basalt.platform]\naccess = "off"\n' })
    const token = await createToken(server)
    expect(await status(server.access.url)).toBe(404)
    expect(await status(server.access.url, token)).toBe(404)
    const { serviceKey: apikey, url } = server.access
    for (const [method, place] of [
      ['GET', '/v1/openapi.json'],
      ['GET', '/v2/openapi.json'],
      ['POST', '/mcp'],
      ['GET', '/pg/tables'],
    ] as const)
      expect([place, (await send(url, method, place, { headers: { apikey } })).status]).toEqual([
        place,
        404,
      ])
    await expect(basalt(server, 'status', '--profile')).rejects.toThrow(/basalt.platform.access/)
    await server.stop()
  })

  test('on the port for programs of this machine only, if it is said so', async () => {
    const server = await startServer({ config: '[basalt.platform]\naccess = "admin"\n' })
    const token = await createToken(server)
    expect(await status(server.access.url, token)).toBe(404)
    const profile = await basalt(server, 'status', '--profile')
    const url = /^api_url: "(.*)"$/m.exec(profile)?.[1] ?? ''
    expect(url).not.toBe(server.access.url)
    expect(await status(url)).toBe(401)
    expect(await status(url, token)).toBe(200)
    await server.stop()
  })

  test('on all addresses as soon as there is a token, and no longer', async () => {
    const server = await startServer({ env: { BASALT_HOST: '0.0.0.0' } })
    const { url } = server.access
    expect(await status(url)).toBe(404)
    expect(await status(url, forged())).toBe(404)
    expect((await send(url, 'POST', '/mcp')).status).toBe(404)
    const token = await createToken(server, '--name', 'first')
    const within = { timeout: 5000 }
    await expect.poll(() => status(url, token), within).toBe(200)
    expect(await status(url)).toBe(401)
    await basalt(server, 'token', 'revoke', 'first')
    expect([401, 404]).toContain(await status(url, token))
    await expect.poll(() => status(url, token), within).toBe(404)
    await server.stop()
  })
})
