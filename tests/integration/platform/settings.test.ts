import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { connect } from '../../support/client.ts'
import { Server } from '../../support/server.mjs'
import { Platform, type Content, type Refusal } from './support.ts'

/** The project's tables. */
interface Schema {
  public: {
    Tables: { numbers: { Row: { id: number }; Insert: never; Update: never; Relationships: [] } }
    Views: Record<string, never>
    Functions: Record<string, never>
  }
  shop: {
    Tables: { wares: { Row: { id: number }; Insert: never; Update: never; Relationships: [] } }
    Views: Record<string, never>
    Functions: Record<string, never>
  }
}

type Fields = Record<string, unknown>

/** How soon another node has a change, in milliseconds. */
const soon = { timeout: 2000, interval: 50 }
const secret = 'hunter2-'.padEnd(40, 'x')

describe.skipIf(inject('own') === null)('settings over the platform interface', () => {
  let platform: Platform
  const env = { JWT_SECRET: randomBytes(32).toString('hex'), PGRST_DB_EXTRA_SEARCH_PATH: 'public' }

  beforeAll(async () => {
    platform = await Platform.start({
      env,
      config: `
        [api]
        max_rows = 12
        [auth]
        minimum_password_length = 7
        [auth.email.smtp]
        enabled = false
        host = "smtp.example.com"
        pass = "the-operators-password"
        admin_email = "admin@example.com"`,
    })
    await platform.server.psql(`
      create table public.numbers as select generate_series(1, 20) as id;
      grant select on public.numbers to anon;
      create schema shop;
      create table shop.wares as select 1 as id;
      grant usage on schema shop to anon;
      grant select on shop.wares to anon;
      insert into storage.buckets (id, name, public) values ('files', 'files', true)`)
    // The catalog is read again after a notification.
    await vi.waitUntil(async () => (await rows()) === 12, { timeout: 20_000 })
  })

  const client = (key = platform.server.access.anonKey, url = platform.url) =>
    connect<Schema>(url, key)

  async function rows(url = platform.url) {
    return (await client(platform.server.access.anonKey, url).from('numbers').select()).data?.length
  }

  async function signUp(password = 'a good password') {
    const email = `${crypto.randomUUID()}@example.com`
    return (await client().auth.signUp({ email, password })).error?.code
  }

  async function upload(bytes: number) {
    const files = client(platform.server.access.serviceKey).storage.from('files')
    return (await files.upload(crypto.randomUUID(), 'x'.repeat(bytes))).error?.message
  }

  const change = async <T = Fields>(place: string, json: unknown, content: Content = {}) =>
    platform.project<T>('PATCH', place, { json, ...content })
  const shown = async (place: string) => (await platform.project<Fields>('GET', place)).body
  const managed = () => platform.basalt('settings', 'list')

  /** Expects that a change is refused, and that nothing of it is kept. */
  async function refused(place: string, json: unknown, message: RegExp, status = 400) {
    const before = [await shown(place), await managed()]
    const answer = await change<Refusal>(place, json)
    expect({ json, status: answer.status, body: answer.body }).toEqual({
      json,
      status,
      body: { message: expect.stringMatching(message) as string },
    })
    expect([await shown(place), await managed()]).toEqual(before)
  }

  describe('are obeyed at once', () => {
    test('by REST', async () => {
      const { status, body } = await change('/postgrest', { max_rows: 3 })
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { max_rows: 3, db_schema: 'public' },
      })
      expect(await rows()).toBe(3)
      await change('/postgrest', { max_rows: 0 })
      expect(await rows()).toBe(20)
      const wares = () => client().schema('shop').from('wares').select()
      expect((await wares()).error?.code).toBe('PGRST106')
      await change('/postgrest', { db_schema: 'public, shop' })
      expect((await wares()).data).toEqual([{ id: 1 }])
      await change('/postgrest', { db_schema: null, max_rows: null })
      expect((await wares()).error?.code).toBe('PGRST106')
      expect(await rows()).toBe(12)
    })

    test('by auth', async () => {
      expect(await signUp()).toBeUndefined()
      const { status, body } = await change('/config/auth', {
        disable_signup: true,
        password_min_length: 20,
        site_url: 'https://site.example.com',
        uri_allow_list: 'https://a.example.com/**, https://b.example.com',
      })
      expect({ status, body }).toMatchObject({
        status: 200,
        body: {
          disable_signup: true,
          password_min_length: 20,
          site_url: 'https://site.example.com',
          uri_allow_list: 'https://a.example.com/**,https://b.example.com',
        },
      })
      expect(await signUp()).toBe('signup_disabled')
      await change('/config/auth', { disable_signup: false })
      expect(await signUp()).toBe('weak_password')
      await change('/config/auth', { password_min_length: null, disable_signup: null })
      expect(await signUp('123456')).toBe('weak_password')
      expect(await signUp('1234567')).toBeUndefined()
    })

    test('by storage', async () => {
      expect(await upload(2000)).toBeUndefined()
      const render = async () =>
        (await fetch(`${platform.url}/storage/v1/render/image/public/files/x`)).status
      const before = await render()
      const { status, body } = await change('/config/storage', {
        fileSizeLimit: 1024,
        features: { imageTransformation: { enabled: false } },
      })
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { fileSizeLimit: 1024, features: { imageTransformation: { enabled: false } } },
      })
      expect(await upload(2000)).toMatch(/maximum allowed size/)
      expect(await render()).not.toBe(before)
      await change('/config/storage', {
        fileSizeLimit: null,
        features: { imageTransformation: { enabled: true } },
      })
      expect(await upload(2000)).toBeUndefined()
      expect(await render()).toBe(before)
    })

    test('by realtime', async () => {
      const { status } = await change('/config/realtime', { private_only: true })
      expect(status).toBe(204)
      expect(await shown('/config/realtime')).toMatchObject({ private_only: true })
      const socket = client()
      const said = await new Promise((resolve) => {
        socket.channel('public-one').subscribe((state) => {
          resolve(state)
        })
      })
      expect(said).toBe('CHANNEL_ERROR')
      await socket.removeAllChannels()
      await change('/config/realtime', { private_only: null })
    })

    test('for mails, whose texts are given as they are', async () => {
      const mail = {
        mailer_autoconfirm: false,
        mailer_subjects_confirmation: 'Welcome aboard',
        mailer_templates_confirmation_content: '<p>Your code is <b>{{ .Token }}</b></p>',
      }
      expect(await change('/config/auth', mail)).toMatchObject({ status: 200, body: mail })
      expect(await signUp()).toBeUndefined()
      const inbox = await (await fetch(`${platform.server.inboxUrl}/api/v1/messages`)).text()
      expect(inbox).toContain('Welcome aboard')
      await change(
        '/config/auth',
        Object.fromEntries(Object.keys(mail).map((name) => [name, null])),
      )
    })

    test('and not kept if they already hold', async () => {
      await change('/config/auth', { webauthn_rp_id: 'example.com', jwt_exp: 1700 })
      const before = await managed()
      expect(before).toContain('auth.jwt_expiry = "1700"')
      for (const place of ['/config/auth', '/config/storage', '/postgrest']) {
        const all = await shown(place)
        expect(await change(place, all)).toMatchObject({ status: 200, body: all })
      }
      expect((await change('/postgrest', {})).status).toBe(200)
      expect(await managed()).toBe(before)
      await change('/config/auth', { webauthn_rp_id: null, jwt_exp: null, site_url: null })
      expect(await managed()).not.toMatch(/jwt_expiry|rp_id/)
    })
  })

  describe('are refused as a whole', () => {
    test.each([
      ['/postgrest', { max_rows: 5, db_schema: 'nowhere' }, /no schema "nowhere"/],
      ['/postgrest', { db_schema: 'public,pg_catalog' }, /api\.schemas/],
      ['/postgrest', { db_schema: 'basalt_platform' }, /basalt_platform.* the server's own/],
      ['/postgrest', { db_schema: 'public, vault' }, /vault.* the server's own/],
      ['/postgrest', { max_rows: 1_000_001 }, /max_rows: expected a number from 0 to 1000000/],
      ['/config/auth', { jwt_exp: 99_999_999_999_999 }, /jwt_exp: .* from 0 to 604800/],
      ['/config/auth', { password_min_length: 100_000 }, /from 6 to 32767/],
      ['/config/auth', { rate_limit_verify: 1e12 }, /rate_limit_verify: .* from 1 to 2147483647/],
      ['/config/storage', { fileSizeLimit: 99_999_999_999_999 }, /from 0 to 536870912000/],
      ['/config/realtime', { max_joins_per_second: 5001 }, /from 1 to 5000/],
      ['/postgrest', { max_rows: 5, nonsense: 1 }, /nonsense: there is no such setting/],
      ['/postgrest', { max_rows: '5' }, /max_rows: expected a number/],
      ['/postgrest', { max_rows: -1 }, /max_rows: expected a number/],
      ['/postgrest', [], /Expected an object/],
      ['/config/auth', { site_url: '' }, /site_url: expected a URL/],
      ['/config/auth', { disable_signup: true, password_min_length: 3 }, /from 6 to 32767/],
      ['/config/auth', { disable_signup: true, mailer_otp_length: 20 }, /from 6 to 10/],
      ['/config/auth', { disable_signup: 'yes' }, /disable_signup: expected true or false/],
      ['/config/auth', { smtp_host: 'smtp.example.org' }, /auth\.email\.smtp/],
      ['/config/auth', { external_github_enabled: true }, /client's id at github/],
      ['/config/auth', { sms_provider: 'twilio' }, /what twilio needs/],
      ['/config/auth', { hook_send_sms_enabled: true }, /since the hook is enabled/],
      ['/config/auth', { saml_enabled: true }, /RSA key/],
      ['/config/auth', { api_max_request_duration: 5 }, /this server has no such setting/],
      ['/config/auth', { mailer_templates_invite_content: '{{ .Token' }, /template/],
      [
        '/config/auth',
        {
          hook_send_sms_enabled: true,
          hook_send_sms_uri: 'https://example.com/',
          hook_send_sms_secrets: 'x',
        },
        /whsec/,
      ],
      [
        '/config/storage',
        { fileSizeLimit: 9, features: { icebergCatalog: { enabled: true } } },
        /icebergCatalog/,
      ],
      ['/config/storage', { features: { purgeCache: { enabled: false } } }, /purgeCache/],
      ['/config/realtime', { private_only: true, suspend: true }, /suspend/],
      ['/config/realtime', { max_joins_per_second: 0 }, /above 0/],
    ] as const)('at %s: %j', async (place, json, message) => {
      await refused(place, json, message)
    })

    test('if they would read the server, or lead into its network', async () => {
      for (const value of ['env(JWT_SECRET)', ' env(HOME) '])
        for (const name of [
          'site_url',
          'smtp_pass',
          'security_captcha_secret',
          'mailer_subjects_invite',
        ])
          await refused('/config/auth', { [name]: value }, /variables of the server are not read/)
      for (const uri of [
        'http://localhost:54322/',
        'https://127.0.0.1/',
        'https://10.0.0.1/',
        'https://intranet/',
        'file:///etc/passwd',
      ])
        await refused(
          '/config/auth',
          { hook_send_email_enabled: true, hook_send_email_uri: uri },
          /hook_send_email_uri: expected https/,
        )
      await refused('/config/auth', { external_gitlab_url: 'https://192.168.0.1' }, /public server/)
      for (const host of ['localhost', '127.0.0.1', '169.254.169.254'])
        await refused('/config/auth', { smtp_host: host }, /smtp_host: expected the name/)
    })

    test("if another server would be sent the operator's password", async () => {
      const smtp = { smtp_host: 'smtp.example.org', smtp_admin_email: 'a@example.org' }
      await refused('/config/auth', smtp, /auth\.email\.smtp\.pass: expected a value of its own/)
      expect((await change('/config/auth', { ...smtp, smtp_pass: secret })).status).toBe(200)
      await refused('/config/auth', { smtp_pass: null }, /auth\.email\.smtp\.pass/)
      await platform.basalt('settings', 'reset', '--all')
      await vi.waitUntil(async () => (await shown('/config/auth')).smtp_host === null, soon)
    })

    test("if the server's environment sets them", async () => {
      await refused(
        '/postgrest',
        { db_extra_search_path: 'public,extensions', max_rows: 5 },
        /the variable PGRST_DB_EXTRA_SEARCH_PATH/,
        409,
      )
      expect((await change('/postgrest', { db_extra_search_path: 'public' })).status).toBe(200)
    })

    test('if the token may not change them', async () => {
      for (const token of [
        await platform.createToken('--scopes', 'read-only'),
        await platform.createToken('--scopes', 'database_write'),
      ])
        for (const [place, json] of [
          ['/postgrest', { max_rows: 1 }],
          ['/config/auth', { disable_signup: true }],
          ['/config/storage', { fileSizeLimit: 1 }],
          ['/config/realtime', { private_only: true }],
        ] as const)
          expect((await change(place, json, { token })).status).toBe(403)
      const token = await platform.createToken('--scopes', 'auth_config_write')
      expect((await change('/config/auth', { jwt_exp: 1234 }, { token })).status).toBe(200)
      expect((await change('/postgrest', { max_rows: 1 }, { token })).status).toBe(403)
      await platform.basalt('settings', 'reset', 'auth.jwt_expiry')
    })
  })

  test('show no secret, neither in answers nor in the database or the log', async () => {
    const github = {
      external_github_enabled: true,
      external_github_client_id: 'an-id',
      external_github_secret: secret,
      security_captcha_secret: secret,
    }
    const { status, body } = await change('/config/auth', github)
    expect(status).toBe(200)
    expect(body.external_github_secret).toMatch(/^[0-9a-f]{64}$/)
    // Both have the same value, and a secret may be sent as it is shown.
    expect(body.security_captcha_secret).toBe(body.external_github_secret)
    const same = { security_captcha_secret: body.security_captcha_secret }
    expect((await change('/config/auth', same)).body).toEqual(body)
    const authorize = `${platform.url}/auth/v1/authorize?provider=github`
    const { headers } = await fetch(authorize, {
      headers: { apikey: platform.server.access.anonKey },
      redirect: 'manual',
    })
    expect(headers.get('location')).toContain('client_id=an-id')
    const rows = await platform.server.psql('select * from basalt_platform.settings').catch(String)
    const log = await platform.query('select detail from basalt_platform.audit_log')
    const listed = await managed()
    expect(listed).toMatch(/^auth\.external\.github\.secret = \(secret\)/m)
    expect(listed).toMatch(/^auth\.external\.github\.client_id = "an-id".*by: operator$/m)
    for (const text of [JSON.stringify(body), rows, JSON.stringify(log.body), listed, platform.log])
      expect(text).not.toContain(secret)
    await platform.basalt('settings', 'reset', '--all')
    expect(await managed()).toBe('')
    await expect(platform.basalt('settings', 'reset', 'auth.site_url')).rejects.toThrow(
      /was not changed/,
    )
  })

  test('are written into the log of changes', async () => {
    await change('/config/auth', { jwt_exp: 1801 })
    expect(
      await platform.server.psql(`
      select name, action, detail from basalt_platform.audit_log order by id desc limit 1`),
    ).toBe('operator|settings.set|{"names": ["auth.jwt_expiry"]}')
    expect(platform.log).toContain('In force: auth.jwt_expiry')
    await change('/config/auth', { jwt_exp: null })
  })

  test('are changed by many at once, and none is lost', async () => {
    const names = ['otp', 'verify', 'token_refresh', 'web3', 'anonymous_users']
    const answers = await Promise.all(
      names.map((name, index) => change('/config/auth', { [`rate_limit_${name}`]: 1000 + index })),
    )
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200))
    const all = await shown('/config/auth')
    expect(names.map((name) => all[`rate_limit_${name}`])).toEqual([1000, 1001, 1002, 1003, 1004])
    await platform.basalt('settings', 'reset', '--all')
  })

  test('are changed by agents', async () => {
    const json = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'update_storage_config',
        arguments: {
          project_id: platform.ref,
          config: {
            fileSizeLimit: 4096,
            features: {
              imageTransformation: { enabled: true },
              s3Protocol: { enabled: false },
            },
          },
        },
      },
    }
    const headers = { Accept: 'application/json, text/event-stream' }
    const { body } = await platform.request<unknown>('POST', '/mcp?features=storage', {
      json,
      headers,
    })
    expect(JSON.stringify(body)).toContain('success')
    expect(await shown('/config/storage')).toMatchObject({
      fileSizeLimit: 4096,
      features: { s3Protocol: { enabled: false } },
    })
    await platform.basalt('settings', 'reset', '--all')
  })

  test('count for the advisors of the command line', async () => {
    const lint = 'auth_otp_long_expiry'
    const lints = async () => platform.basalt('advisors', '--type', 'security', '-o', 'json')
    expect(await lints()).not.toContain(lint)
    await change('/config/auth', { mailer_otp_exp: 7200 })
    expect(await lints()).toContain(lint)
    await change('/config/auth', { mailer_otp_exp: null })
    expect(await lints()).not.toContain(lint)
  })

  test('are used by other nodes at once, and after a restart', async () => {
    const { user, password } = await platform.server.superuser()
    const port = await platform.server.psql('show port')
    const url = `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
    const { project } = platform.server
    const dataDir = await mkdtemp(path.join(tmpdir(), 'basalt-node-'))
    const node = { ...env, DATABASE_URL: url, BASALT_ADOPT_DATABASE: '1' }
    await change('/postgrest', { max_rows: 5 })
    const other = await Server.start({ project, dataDir, env: node })
    expect(await rows(other.access.url)).toBe(5)
    await change('/postgrest', { max_rows: 6 })
    await expect.poll(() => rows(other.access.url), soon).toBe(6)
    const there = `${other.access.url}/v1/projects/${platform.ref}/postgrest`
    await fetch(there, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${platform.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ max_rows: 7 }),
    })
    expect(await rows(other.access.url)).toBe(7)
    await expect.poll(() => rows(), soon).toBe(7)
    await other.stop()

    const kept = platform.server.dataDir
    await platform.server.stop({ keepData: true })
    const again = await Server.start({ project, dataDir: kept, folders: [project], env })
    platform = await Platform.of(again)
    expect(await rows()).toBe(7)
    // SIGHUP reads config.toml again, which they still override.
    again.process.kill('SIGHUP')
    await vi.waitUntil(() => platform.log.includes('The settings were read again'))
    expect(platform.log).toMatch(/in place of config\.toml: api\.max_rows\./)
    expect(await rows()).toBe(7)
    expect(await platform.basalt('settings', 'reset', 'api.max_rows')).toContain(
      'Reset api.max_rows',
    )
    await expect.poll(() => rows(), soon).toBe(12)
  })
})
