// Plays what Supabase's Terraform provider asks (supabase/terraform-provider-supabase), in its order. Its generated
// client reads a body only if the status is the documented one, reads no number with a fraction where the document has
// an integer, and a plan is stable only if what was written is what is read.

import { createHash } from 'node:crypto'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { deviations, operations } from './document.ts'
import { Platform, type Content, type FunctionBody } from './support.ts'

type Fields = Record<string, unknown>

/** An API key as the provider reads it. */
interface Key {
  id: string
  name: string
  type: string
  api_key: string
  description: string | null
  secret_jwt_template: { role: string } | null
}

/** The attributes of `supabase_settings`, which are JSON. */
interface Settings {
  database?: Fields
  network?: { restrictions: string[] }
  api?: Fields
  auth?: Fields
  storage?: Fields
  ssl_enforcement?: boolean
}

const PROJECT = '/v1/projects/{ref}'
/** Where attributes are read; another method writes them there. */
const PLACES = {
  database: `${PROJECT}/config/database/postgres`,
  api: `${PROJECT}/postgrest`,
  auth: `${PROJECT}/config/auth`,
  storage: `${PROJECT}/config/storage`,
}
const ISSUERS = `${PROJECT}/config/auth/third-party-auth`
const SERVICES = 'auth db db_postgres_user pg_bouncer pooler realtime rest storage'.split(' ')
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** The fields of auth that the provider takes from its own state. */
const SECRETS = /_(pass|secrets?|auth_token|access_key|api_key)$/

/** The settings of the provider's own example. */
const EXAMPLE: Settings = {
  database: { statement_timeout: '10s' },
  network: { restrictions: ['0.0.0.0/0', '::/0'] },
  api: {
    db_schema: 'public,storage,graphql_public',
    db_extra_search_path: 'public,extensions',
    max_rows: 1000,
  },
  auth: {
    site_url: 'http://localhost:3000',
    mailer_otp_exp: 3600,
    mfa_phone_otp_length: 6,
    sms_otp_length: 6,
  },
  storage: {
    fileSizeLimit: 52_428_800,
    features: { imageTransformation: { enabled: true }, s3Protocol: { enabled: false } },
  },
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns what a response says of the fields that are configured: so the provider's state has no others. */
function picked(configured: Fields, response: Fields): Fields {
  const pick = (name: string, value: unknown) => {
    const shown = response[name]
    return isObject(value) && isObject(shown) ? picked(value, shown) : shown
  }
  return Object.fromEntries(
    Object.entries(configured).map(([name, value]) => [name, pick(name, value)]),
  )
}

/** The provider's requests to one server. */
class Provider {
  readonly platform: Platform

  constructor(platform: Platform) {
    this.platform = platform
  }

  /** Sends a request, and expects the response that the document has. */
  async ask<T = Fields>(
    operation: string,
    content: Content = {},
    parameters: Record<string, string> = {},
    query = '',
  ): Promise<T> {
    const [method = '', path = ''] = operation.split(' ')
    const all: Record<string, string> = { ref: this.platform.ref, ...parameters }
    const place = path.replace(/\{(\w+)\}/g, (_, name: string) => all[name] ?? '')
    const headers = {
      Authorization: `Bearer ${this.platform.token}`,
      ...(content.json === undefined ? {} : { 'Content-Type': 'application/json' }),
    }
    const response = await fetch(this.platform.url + place + query, {
      method: method.toUpperCase(),
      headers,
      body: content.body ?? (content.json === undefined ? null : JSON.stringify(content.json)),
    })
    const text = await response.text()
    const { status, schema } = operations[operation] ?? {}
    expect({ operation, status: response.status, text }).toMatchObject({ operation, status })
    expect({ operation, text }).not.toMatchObject({
      text: expect.stringMatching(/:-?\d+\.0+[,}\]]/) as string,
    })
    const body: unknown = text === '' ? undefined : JSON.parse(text)
    if (schema) expect(deviations(operation, body)).toEqual([])
    return body as T
  }

  /** Waits until the project and its services are ready: anything else would end `terraform apply`. */
  async ready() {
    expect(await this.ask(`get ${PROJECT}`)).toMatchObject({ status: 'ACTIVE_HEALTHY' })
    expect((await this.ask(`get ${PLACES.api}`)).db_schema).not.toBe('')
    const query = `?${SERVICES.map((name) => `services=${name}`).join('&')}`
    const states = await this.ask<{ status: string }[]>(`get ${PROJECT}/health`, {}, {}, query)
    expect(states.map(({ status }) => status)).toEqual(states.map(() => 'ACTIVE_HEALTHY'))
  }

  /** Creates or updates `supabase_settings`. */
  async apply({ database, network, api, auth, storage, ssl_enforcement }: Settings) {
    await this.ready()
    const write = async (method: string, name: keyof typeof PLACES, json: Fields = {}) => {
      const configured = Object.entries(json).filter(([field]) => !SECRETS.test(field))
      const shown = await this.ask(`${method} ${PLACES[name]}`, { json })
      expect(picked(Object.fromEntries(configured), shown)).toEqual(Object.fromEntries(configured))
    }
    if (database) await write('put', 'database', database)
    if (network) {
      const isOf = (form: RegExp) => network.restrictions.filter((one) => form.test(one))
      const json = { dbAllowedCidrs: isOf(/\./), dbAllowedCidrsV6: isOf(/:/) }
      await this.ask(`post ${PROJECT}/network-restrictions/apply`, { json })
    }
    if (api) await write('patch', 'api', api)
    if (auth) await write('patch', 'auth', auth)
    if (storage) await write('patch', 'storage', storage)
    if (ssl_enforcement === undefined) return
    const json = { requestedConfig: { database: ssl_enforcement } }
    expect(await this.ask(`put ${PROJECT}/ssl-enforcement`, { json })).toEqual({
      currentConfig: { database: ssl_enforcement },
      appliedSuccessfully: true,
    })
  }

  /** Reads `supabase_settings`, of which only `configured` ones are managed. */
  async read(configured: Settings): Promise<Settings> {
    const state: Settings = {}
    for (const name of ['database', 'api', 'auth', 'storage'] as const) {
      const fields = configured[name]
      if (fields) state[name] = picked(fields, await this.ask(`get ${PLACES[name]}`))
    }
    const all = await this.importSettings(['network', 'ssl_enforcement'])
    return { ...state, ...picked(restOf(configured), all as Fields) }
  }

  /** Reads those of all settings that `names` has, as `terraform import` does. */
  async importSettings(names: (keyof Settings)[]): Promise<Settings> {
    const state: Settings = {}
    for (const name of ['database', 'api', 'auth', 'storage'] as const) {
      if (!names.includes(name)) continue
      const fields = Object.entries(await this.ask(`get ${PLACES[name]}`))
      const isKept = ([field, value]: [string, unknown]) => value !== null && !SECRETS.test(field)
      state[name] = Object.fromEntries(fields.filter(isKept))
    }
    const { config } = await this.ask<{ config: Record<string, string[] | undefined> }>(
      `get ${PROJECT}/network-restrictions`,
    )
    const restrictions = [config.dbAllowedCidrs, config.dbAllowedCidrsV6].flatMap(
      (list) => list ?? [],
    )
    const ssl = await this.ask<{ currentConfig: { database: boolean } }>(
      `get ${PROJECT}/ssl-enforcement`,
    )
    return { ...state, network: { restrictions }, ssl_enforcement: ssl.currentConfig.database }
  }

  /** Applies settings, and expects that a plan has nothing to change then. */
  async settle(settings: Settings) {
    await this.apply(settings)
    const { auth, ...others } = settings
    const shown = auth && Object.entries(auth).filter(([field]) => !SECRETS.test(field))
    const visible: Settings = shown ? { ...others, auth: Object.fromEntries(shown) } : others
    expect(await this.read(visible)).toEqual(visible)
  }
}

/** Returns the settings that are no fields of one place. */
const restOf = ({ network, ssl_enforcement }: Settings): Fields => ({
  ...(network && { network }),
  ...(ssl_enforcement !== undefined && { ssl_enforcement }),
})

describe.skipIf(inject('own') === null)("Supabase's Terraform provider", () => {
  let platform: Platform
  let provider: Provider

  beforeAll(async () => {
    platform = await Platform.start({
      env: { BASALT_DATABASE_LISTEN: '127.0.0.1:0' },
      config: '[auth.third_party.firebase]\nenabled = true\nproject_id = "shop"',
    })
    provider = new Provider(platform)
  })

  const ask: Provider['ask'] = async (...words) => provider.ask(...words)

  test('imports the project, and renames it', async () => {
    const read = async () => {
      const { id, name, organization_id, region } = await ask(`get ${PROJECT}`)
      const { enabled } = await ask(`get ${PROJECT}/api-keys/legacy`)
      const { selected_addons } = await ask(`get ${PROJECT}/billing/addons`)
      return { id, name, organization_id, region, enabled, selected_addons }
    }
    const imported = await read()
    expect(imported).toEqual({
      id: platform.ref,
      name: 'platform',
      organization_id: 'local',
      region: 'local',
      enabled: true,
      // So `instance_size` is null.
      selected_addons: [],
    })
    await ask(`patch ${PROJECT}`, { json: { name: 'shop' } })
    await ask(`put ${PROJECT}/api-keys/legacy`, {}, {}, '?enabled=true')
    expect(await read()).toEqual({ ...imported, name: 'shop' })
  })

  describe('applies settings, and then has nothing to change', () => {
    test('those of its example', async () => {
      await provider.settle(EXAMPLE)
    })

    test('with a restart of Postgres among them', async () => {
      await provider.settle({
        ...EXAMPLE,
        database: {
          statement_timeout: '60000ms',
          max_connections: 120,
          track_commit_timestamp: true,
        },
      })
      await provider.settle({ database: {} })
    })

    test('numbers, lists, texts and secrets of auth', async () => {
      await provider.settle({
        auth: {
          rate_limit_anonymous_users: 31,
          rate_limit_token_refresh: 151,
          rate_limit_otp: 32,
          sessions_timebox: 24,
          sessions_inactivity_timeout: 0.5,
          uri_allow_list: 'https://a.example.com/**,myapp://home',
          mailer_templates_confirmation_content: '<p>{{ .Token }} & more</p>\n',
          password_min_length: 10,
          smtp_host: 'smtp.example.com',
          smtp_port: '465',
          smtp_user: 'user',
          smtp_pass: 'password',
          smtp_admin_email: 'admin@example.com',
          external_google_enabled: true,
          external_google_client_id: 'one,two',
          external_google_secret: 'secret',
          external_anonymous_users_enabled: true,
        },
      })
    })

    test('networks and encryption', async () => {
      for (const restrictions of [['203.0.113.0/24'], ['2001:db8::/32'], [], ['0.0.0.0/0', '::/0']])
        await provider.settle({ network: { restrictions } })
      for (const ssl_enforcement of [true, false]) await provider.settle({ ssl_enforcement })
    })

    test('all that it has imported, with one change', async () => {
      const all = await provider.importSettings(['database', 'api', 'auth', 'storage'])
      expect(await provider.read(all)).toEqual(all)
      const auth = { ...all.auth, site_url: 'https://shop.example.com' }
      const api = { ...all.api, max_rows: 500 }
      // The provider sends none of these: their types have no such fields.
      const { fileSizeLimit, features } = { ...all.storage } as Fields & { features: Fields }
      await provider.settle({ ...all, auth, api, storage: { fileSizeLimit, features } })
    })
  })

  test('makes, imports, changes and deletes API keys', async () => {
    const keys = `${PROJECT}/api-keys`
    const reveal = '?reveal=true'
    const list = async () => ask<Key[]>(`get ${keys}`, {}, {}, reveal)
    const read = async (id: string) => ask<Key>(`get ${keys}/{id}`, {}, { id }, reveal)
    const before = await list()
    // Otherwise the provider would make this one first.
    expect(before).toContainEqual(expect.objectContaining({ name: 'default', type: 'publishable' }))
    const template = { secret_jwt_template: { role: 'service_role' } }
    const json = { name: 'test', type: 'secret', ...template }
    const made = await ask<Key>(`post ${keys}`, { json }, {}, reveal)
    expect(made).toMatchObject({ ...json, description: null })
    expect(await read(made.id)).toEqual(made)
    const change = { name: 'test_two', description: 'a key', ...template }
    await ask<Key>(`patch ${keys}/{id}`, { json: change }, { id: made.id }, reveal)
    expect(await read(made.id)).toMatchObject({ ...change, api_key: made.api_key })
    // Also the default ones are imported, by their names and kinds. The provider ends if an id is no UUID.
    for (const { id, name, type, api_key } of await list()) {
      if (type === 'legacy') continue
      expect({ name, id }).toEqual({ name, id: expect.stringMatching(UUID) as string })
      expect(await read(id)).toMatchObject({ name, type, api_key })
    }
    await ask(`delete ${keys}/{id}`, {}, { id: made.id }, reveal)
    expect(await list()).toEqual(before)
    // Its data source shows them all.
    expect(before.map(({ name, type }) => `${type} ${name}`)).toEqual([
      'legacy anon',
      'legacy service_role',
      'publishable default',
      'secret default',
    ])
  })

  test('deploys, imports and deletes a function', async () => {
    const one = `${PROJECT}/functions/{function_slug}`
    const slug = { function_slug: 'foo' }
    const read = async () => ask<FunctionBody>(`get ${one}`, {}, slug)
    /** The files come first, the entry point and the import map without their folders. */
    const deploy = async (text: string) => {
      const body = new FormData()
      const source = "import { text } from 'text'\nDeno.serve(() => new Response(text))"
      const map = { imports: { text: `data:text/javascript,export const text = '${text}'` } }
      body.append('file', new Blob([source]), 'index.ts')
      body.append('file', new Blob([JSON.stringify(map)]), 'deno.json')
      body.append('file', new Blob(['<p>']), 'supabase/functions/foo/page.html')
      const metadata = {
        entrypoint_path: 'index.ts',
        name: 'foo',
        import_map_path: 'deno.json',
        static_patterns: ['supabase/functions/foo/*.html'],
      }
      body.append('metadata', JSON.stringify(metadata))
      const deployed = await ask<FunctionBody>(
        `post ${PROJECT}/functions/deploy`,
        { body },
        {},
        '?slug=foo',
      )
      expect(await read()).toEqual(deployed)
      expect((await platform.call('foo')).text).toBe(text)
      return deployed
    }
    const first = await deploy('first')
    expect(first).toMatchObject({ name: 'foo', version: 1, status: 'ACTIVE' })
    expect(await deploy('second')).toMatchObject({ id: first.id, version: 2 })
    const place = `${platform.url}/v1/projects/${platform.ref}/functions/foo/body`
    const headers = { Authorization: `Bearer ${platform.token}`, Accept: 'multipart/form-data' }
    const form = await (await fetch(place, { headers })).formData()
    expect(JSON.parse(form.get('metadata') as string)).toMatchObject({
      deno2_entrypoint_path: 'index.ts',
    })
    const names = form.getAll('file').map((file) => (file as File).name)
    expect(names).toEqual(['deno.json', 'index.ts', 'supabase/functions/foo/page.html'])
    await ask(`delete ${one}`, {}, slug)
    expect((await platform.project('GET', '/functions/foo')).status).toBe(404)
  })

  test('sets, imports and deletes secrets of functions', async () => {
    const read = async () =>
      Object.fromEntries(
        (await ask<{ name: string; value: string }[]>(`get ${PROJECT}/secrets`)).map(
          ({ name, value }) => [name, value],
        ),
      )
    const digest = (value: string) => createHash('sha256').update(value).digest('hex')
    const set = async (values: Record<string, string>) => {
      const json = Object.entries(values).map(([name, value]) => ({ name, value }))
      await ask(`post ${PROJECT}/secrets`, { json })
    }
    await set({ API_KEY: 'one', STRIPE_KEY: 'sk' })
    expect(await read()).toEqual({ API_KEY: digest('one'), STRIPE_KEY: digest('sk') })
    await set({ API_KEY: 'two' })
    await ask(`delete ${PROJECT}/secrets`, { json: ['STRIPE_KEY'] })
    expect(await read()).toEqual({ API_KEY: digest('two') })
    await ask(`delete ${PROJECT}/secrets`, { json: ['API_KEY'] })
    expect(await read()).toEqual({})
  })

  test('imports a third party whose tokens are accepted', async () => {
    const [issuer] = await ask<{ id: string }[]>(`get ${ISSUERS}`)
    const tpa_id = issuer?.id ?? ''
    const read = await ask(`get ${ISSUERS}/{tpa_id}`, {}, { tpa_id })
    expect(read).toEqual(issuer)
    expect(read.oidc_issuer_url).toBe('https://securetoken.google.com/shop')
    const other = `/config/auth/third-party-auth/${crypto.randomUUID()}`
    expect((await platform.project('GET', other)).status).toBe(404)
    // With 404 it would take it for deleted.
    const { status, body } = await platform.project('DELETE', other.replace(/[^/]+$/, tpa_id))
    expect({ status, message: body.message }).toMatchObject({
      status: 501,
      message: expect.stringContaining('config.toml') as string,
    })
  })

  test('reads data sources', async () => {
    expect(await ask(`get ${PROJECT}/branches`)).toEqual([])
    expect(await ask(`post ${PROJECT}/network-bans/retrieve`)).toEqual({
      banned_ipv4_addresses: [],
    })
    const poolers = await ask<Fields[]>(`get ${PROJECT}/config/database/pooler`)
    expect(poolers).toMatchObject([
      {
        database_type: 'PRIMARY',
        pool_mode: 'session',
        connection_string: expect.stringMatching(/^postgresql:\/\/postgres:/) as string,
      },
    ])
  })

  test.each([
    ['POST', '/v1/projects', { name: 'two', organization_slug: 'local' }, /one project/],
    ['DELETE', PROJECT, undefined, /stop the server/],
    ['PATCH', `${PROJECT}/database/password`, { password: 'new' }, /password of postgres/],
    ['PATCH', `${PROJECT}/billing/addons`, { addon_type: 'compute_instance' }, /no add-ons/],
    ['POST', `${PROJECT}/branches`, { branch_name: 'Production' }, /no branches/],
    ['POST', ISSUERS, { oidc_issuer_url: 'https://example.com' }, /config\.toml/],
  ])('is told why not: %s %s', async (method, path, json, message) => {
    const place = path.replace('{ref}', platform.ref)
    const { status, body } = await platform.request(method, place, { json })
    expect({ status, message: body.message }).toEqual({
      status: 501,
      message: expect.stringMatching(message) as string,
    })
  })

  test('manages a server without some services and without a port of the database', async () => {
    const small = await Platform.start({
      config: '[realtime]\nenabled = false\n[storage]\nenabled = false',
    })
    const { api, auth, network } = EXAMPLE
    await new Provider(small).settle({ api: { ...api, db_schema: 'public' }, auth: { ...auth } })
    await new Provider(small).settle({ ...(network && { network }), ssl_enforcement: false })
    const json = { requestedConfig: { database: true } }
    expect(await small.project('PUT', '/ssl-enforcement', { json })).toMatchObject({ status: 400 })
    await small.server.stop()
  })

  test('does not wait for a port to be without encryption that other machines reach', async () => {
    const config = '[basalt]\ndefault_database_password = false'
    const open = await Platform.start({ config, env: { BASALT_DATABASE_LISTEN: '0.0.0.0:0' } })
    await new Provider(open).settle({ ssl_enforcement: true })
    const json = { requestedConfig: { database: false } }
    expect(await open.project('PUT', '/ssl-enforcement', { json })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('have to be encrypted') as string },
    })
    await open.server.stop()
  })
})
