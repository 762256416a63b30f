import { beforeAll, describe, expect, inject, test } from 'vitest'

import { identityProvider } from '../../support/identity-provider.mjs'
import { deviations, operations } from './document.ts'
import { Platform, saying, type Answer, type Content, type FunctionBody } from './support.ts'

/** Operations that a server which is one project, with a Postgres of its own, refuses. */
const REFUSED = [
  'post /v1/projects',
  'delete /v1/projects/{ref}',
  'post /v1/projects/{ref}/branches',
  'patch /v1/projects/{ref}/billing/addons',
  'patch /v1/projects/{ref}/database/password',
  'delete /v1/projects/{ref}/config/auth/third-party-auth/{tpa_id}',
  'patch /v1/projects/{ref}/config/database/pooler',
]

describe.skipIf(inject('own') === null)(
  'responses have the form that the Management API documents',
  () => {
    let platform: Platform
    const asked = new Set<string>()

    beforeAll(async () => {
      platform = await Platform.start({
        config: '[auth.third_party.firebase]\nenabled = true\nproject_id = "documented"',
        files: { 'snippets/count.sql': 'select count(*) from notes' },
        env: { BASALT_DATABASE_LISTEN: '127.0.0.1:0' },
      })
      // Something that advisors complain about, in all ways.
      await platform.server.psql(`
      create table public.notes (id int, body text);
      create table public.kinds (id int primary key);
      create table public.things (id int primary key, kind int references public.kinds);
      create index one on public.things (kind); create index two on public.things (kind);
      alter table public.things enable row level security;
      create policy a on public.things for select using (auth.uid() is not null);
      create policy b on public.things for select using (true);
      alter table public.kinds disable row level security;
      create view public.seen as select * from auth.users;
      create materialized view public.kept as select 1 as a;
      grant select on public.kept, public.seen to anon;
      create function public.loose() returns int language sql as 'select 1';
      insert into storage.buckets (id, name, public) values ('files', 'files', true)`)
    })

    /** Asks for an operation of the document, and checks what is returned. */
    async function ask<T = unknown>(
      operation: string,
      content: Content = {},
      parameters: Record<string, string> = {},
      query = '',
    ): Promise<T> {
      const expected = operations[operation]
      const [method = '', path = ''] = operation.split(' ')
      const all: Record<string, string> = { ref: platform.ref, slug: 'local', ...parameters }
      const place = path.replace(/\{(\w+)\}/g, (_, name: string) => all[name] ?? '')
      const answer: Answer = await platform.request(method.toUpperCase(), place + query, content)
      asked.add(operation)
      expect({ operation, status: answer.status, body: answer.body }).toMatchObject({
        operation,
        status: expected?.status,
      })
      // Not the end of the test: there may be more in other responses.
      expect
        .soft({ operation, differing: deviations(operation, answer.body) })
        .toEqual({ operation, differing: [] })
      return answer.body as T
    }

    test.each([
      'get /v1/profile',
      'get /v1/organizations',
      'get /v1/organizations/{slug}',
      'get /v1/organizations/{slug}/members',
      'get /v1/organizations/{slug}/projects',
      'get /v1/projects',
      'get /v1/projects/{ref}',
      'get /v1/projects/{ref}/api-keys',
      'get /v1/projects/{ref}/api-keys/legacy',
      'get /v1/projects/{ref}/branches',
      'get /v1/projects/{ref}/network-restrictions',
      'get /v1/projects/{ref}/postgrest',
      'get /v1/projects/{ref}/ssl-enforcement',
      'get /v1/projects/{ref}/types/typescript',
      'get /v1/projects/{ref}/readonly',
      'get /v1/projects/{ref}/config/auth',
      'get /v1/projects/{ref}/config/storage',
      'get /v1/projects/{ref}/config/realtime',
      'get /v1/projects/{ref}/config/database/pgbouncer',
      'get /v1/projects/{ref}/config/database/pooler',
      'get /v1/projects/{ref}/config/database/postgres',
      'get /v1/projects/{ref}/billing/addons',
      'get /v1/projects/{ref}/advisors/performance',
      'get /v1/projects/{ref}/advisors/security',
      'get /v1/projects/{ref}/storage/buckets',
      'get /v1/projects/{ref}/database/backups',
      'post /v1/projects/{ref}/network-bans/retrieve',
      'post /v1/projects/{ref}/network-bans/retrieve/enriched',
      'post /v1/projects/{ref}/database/webhooks/enable',
      'get /v1/projects/{ref}/actions',
      'get /v1/projects/{ref}/analytics/endpoints/logs.all',
      'get /v1/projects/{ref}/database/context',
      'get /v1/projects/{ref}/database/openapi',
      'get /v1/projects/{ref}/jit-access',
      'get /v1/projects/{ref}/database/jit',
      'get /v1/projects/{ref}/database/jit/list',
      'get /v1/projects/{ref}/restore',
      'get /v1/projects/{ref}/upgrade/eligibility',
      'get /v1/projects/{ref}/upgrade/status',
      'get /v1/projects/{ref}/vanity-subdomain',
    ])('%s', async (operation) => {
      const body = await ask(operation)
      // Nothing would hold of an empty list.
      if (operation.includes('advisors'))
        expect((body as { lints: unknown[] }).lints.length).toBeGreaterThan(2)
      if (operation.includes('buckets')) expect(body).toHaveLength(1)
    })

    test('the project, and how its services are', async () => {
      await ask('patch /v1/projects/{ref}', { json: { name: 'documented' } })
      expect(await ask('get /v1/projects/{ref}')).toMatchObject({ name: 'documented' })
      const services = [
        'auth',
        'db',
        'db_postgres_user',
        'pooler',
        'realtime',
        'rest',
        'storage',
        'pg_bouncer',
      ]
      const healthy = await ask<{ name: string }[]>(
        'get /v1/projects/{ref}/health',
        {},
        {},
        `?services=${services.join(',')}`,
      )
      expect(healthy.map(({ name }) => name).sort()).toEqual(services.sort())
      const repeated = await ask<{ name: string }[]>(
        'get /v1/projects/{ref}/health',
        {},
        {},
        '?services=auth&services=rest',
      )
      expect(repeated.map(({ name }) => name).sort()).toEqual(['auth', 'rest'])
    })

    test('who may connect to the database', async () => {
      const networks = { dbAllowedCidrs: ['192.0.2.0/24'], dbAllowedCidrsV6: ['2001:db8::/32'] }
      await ask('post /v1/projects/{ref}/network-restrictions/apply', { json: networks })
      expect(await ask('get /v1/projects/{ref}/network-restrictions')).toMatchObject({
        config: networks,
      })
      await ask('patch /v1/projects/{ref}/network-restrictions', {
        json: {
          add: { dbAllowedCidrs: ['198.51.100.0/24'] },
          remove: { dbAllowedCidrsV6: ['2001:db8::/32'] },
        },
      })
      expect(await ask('get /v1/projects/{ref}/network-restrictions')).toMatchObject({
        config: { dbAllowedCidrs: ['192.0.2.0/24', '198.51.100.0/24'] },
      })
      for (const database of [true, false])
        await ask('put /v1/projects/{ref}/ssl-enforcement', {
          json: { requestedConfig: { database } },
        })
      await ask('delete /v1/projects/{ref}/network-bans', {
        json: { ipv4_addresses: ['192.0.2.1'] },
      })
    })

    test('snippets', async () => {
      const { data } = await ask<{ data: { id: string }[] }>(
        'get /v1/snippets',
        {},
        {},
        `?project_ref=${platform.ref}`,
      )
      expect(data).toHaveLength(1)
      expect(await ask('get /v1/snippets/{id}', {}, { id: data[0]?.id ?? '' })).toMatchObject({
        name: 'count',
        content: { sql: 'select count(*) from notes' },
      })
    })

    test('API keys', async () => {
      const json = { type: 'secret', name: 'documented', description: 'a key' }
      const { id } = await ask<{ id: string }>('post /v1/projects/{ref}/api-keys', { json })
      await ask('post /v1/projects/{ref}/api-keys', {
        json: { type: 'publishable', name: 'another' },
      })
      await ask('get /v1/projects/{ref}/api-keys')
      await ask('get /v1/projects/{ref}/api-keys', {}, {}, '?reveal=true')
      await ask('get /v1/projects/{ref}/api-keys/{id}', {}, { id })
      await ask('patch /v1/projects/{ref}/api-keys/{id}', { json: { name: 'renamed' } }, { id })
      await ask('delete /v1/projects/{ref}/api-keys/{id}', {}, { id })
      await ask('put /v1/projects/{ref}/api-keys/legacy', {}, {}, '?enabled=true')
    })

    test('signing keys', async () => {
      const { keys } = await ask<{ keys: { id: string; status: string }[] }>(
        'get /v1/projects/{ref}/config/auth/signing-keys',
      )
      expect(keys.map(({ status }) => status)).toEqual(['in_use', 'previously_used'])
      const { id } = await ask<{ id: string }>(
        'get /v1/projects/{ref}/config/auth/signing-keys/legacy',
      )
      expect(id).toBe(keys[1]?.id)
      await ask('get /v1/projects/{ref}/config/auth/signing-keys/{id}', {}, { id })
    })

    test('identity providers', async () => {
      const providers = '/v1/projects/{ref}/config/auth/sso/providers'
      const json = {
        type: 'saml',
        metadata_xml: identityProvider('ships.example'),
        domains: ['ships.example'],
        attribute_mapping: { keys: { name: { names: ['cn'], default: 'nobody' } } },
      }
      const { id } = await ask<{ id: string }>(`post ${providers}`, { json })
      const provider_id = id
      expect(await ask(`get ${providers}`)).toMatchObject({ items: [{ id }] })
      await ask(`get ${providers}/{provider_id}`, {}, { provider_id })
      const change = { json: { domains: ['boats.example'] } }
      expect(await ask(`put ${providers}/{provider_id}`, change, { provider_id })).toMatchObject({
        domains: [{ domain: 'boats.example' }],
      })
      await ask(`delete ${providers}/{provider_id}`, {}, { provider_id })
      for (const wrong of [id, 'nonsense']) {
        const answer = await platform.project('GET', `/config/auth/sso/providers/${wrong}`)
        expect(answer.status).toBe(404)
      }
      const again = await platform.project('POST', '/config/auth/sso/providers', { json: {} })
      expect(again).toMatchObject({ status: 400, body: { message: expect.any(String) as string } })
      const token = await platform.createToken('--scopes', 'auth_config_read')
      const refused = await platform.project('POST', '/config/auth/sso/providers', { json, token })
      expect(refused.status).toBe(403)
    })

    test('secrets', async () => {
      await ask('post /v1/projects/{ref}/secrets', { json: [{ name: 'WORD', value: 'sesame' }] })
      expect(await ask('get /v1/projects/{ref}/secrets')).toHaveLength(1)
      await ask('delete /v1/projects/{ref}/secrets', { json: ['WORD'] })
    })

    test('login roles', async () => {
      await ask('post /v1/projects/{ref}/cli/login-role', { json: { read_only: true } })
      await ask('delete /v1/projects/{ref}/cli/login-role')
    })

    test('queries and migrations', async () => {
      await ask('post /v1/projects/{ref}/database/query', { json: { query: 'select 1' } })
      await ask('post /v1/projects/{ref}/database/query/read-only', { json: { query: 'select 1' } })
      const applied = {
        query: 'create table public.applied ()',
        name: 'applied',
        rollback: 'drop table public.applied',
      }
      await ask('post /v1/projects/{ref}/database/migrations', { json: applied })
      await ask('post /v1/projects/{ref}/database/migrations', { json: { query: 'select 1' } })
      await ask('put /v1/projects/{ref}/database/migrations', { json: { query: 'select 2' } })
      await platform.server.psql(
        "insert into supabase_migrations.schema_migrations (version) values ('20000101000000')",
      )
      const all = await ask<{ version: string }[]>('get /v1/projects/{ref}/database/migrations')
      expect(all).toHaveLength(4)
      for (const { version } of all)
        await ask('get /v1/projects/{ref}/database/migrations/{version}', {}, { version })
      const version = all[1]?.version ?? ''
      await ask(
        'patch /v1/projects/{ref}/database/migrations/{version}',
        { json: { name: 'renamed' } },
        { version },
      )
      await ask('delete /v1/projects/{ref}/database/migrations', {}, {}, `?gte=${version}`)
    })

    test('functions', async () => {
      const json = { slug: 'one', name: 'one', body: saying('one') }
      await ask('post /v1/projects/{ref}/functions', { json })
      const form = () => {
        const body = new FormData()
        const metadata = {
          name: 'two',
          entrypoint_path: 'a/index.ts',
          import_map_path: 'a/deno.json',
        }
        body.append('metadata', JSON.stringify(metadata))
        body.append('file', new Blob([saying('two')]), 'a/index.ts')
        body.append('file', new Blob(['{}']), 'a/deno.json')
        return { body }
      }
      await ask('post /v1/projects/{ref}/functions/deploy', form(), {}, '?slug=two')
      const bundle = await ask<FunctionBody>(
        'post /v1/projects/{ref}/functions/deploy',
        form(),
        {},
        '?slug=two&bundleOnly=true',
      )
      await ask('put /v1/projects/{ref}/functions', { json: [bundle] })
      expect(await ask('get /v1/projects/{ref}/functions')).toHaveLength(2)
      for (const function_slug of ['one', 'two'])
        await ask('get /v1/projects/{ref}/functions/{function_slug}', {}, { function_slug })
      const function_slug = 'one'
      await ask(
        'patch /v1/projects/{ref}/functions/{function_slug}',
        { json: { name: 'other' } },
        { function_slug },
      )
      const body = await platform.project('GET', '/functions/one/body')
      expect(body.status).toBe(200)
      asked.add('get /v1/projects/{ref}/functions/{function_slug}/body')
      await ask('delete /v1/projects/{ref}/functions/{function_slug}', {}, { function_slug })
    })

    test('all settings in one document, as the Supabase CLI expects them', async () => {
      const { status, body } = await platform.request<unknown>(
        'GET',
        `/v2/projects/${platform.ref}/config`,
      )
      expect({ status, body }).toMatchObject({
        status: 200,
        body: {
          data: {
            type: 'project_config',
            id: platform.ref,
            attributes: {
              database: { major_version: expect.any(Number) as number, ssl_enforced: false },
              pooler: {},
              auth: { site_url: expect.any(String) as string },
              api: { db_schema: expect.stringContaining('public') as string },
              realtime: {},
              storage: { file_size_limit: expect.any(Number) as number },
            },
          },
        },
      })
    })

    test('changes of settings', async () => {
      await ask('patch /v1/projects/{ref}/postgrest', { json: { max_rows: 100 } })
      await ask('patch /v1/projects/{ref}/config/auth', {
        json: {
          smtp_host: 'smtp.example.com',
          smtp_port: '465',
          smtp_user: 'user',
          smtp_pass: 'password',
          smtp_admin_email: 'admin@example.com',
          external_github_enabled: true,
          external_github_client_id: 'id',
          external_github_secret: 'secret',
          sms_test_otp: '4152127777=123456',
          sms_test_otp_valid_until: '2040-01-31T12:00:00.5Z',
          sessions_timebox: 24,
          password_required_characters:
            'abcdefghijklmnopqrstuvwxyz:ABCDEFGHIJKLMNOPQRSTUVWXYZ:0123456789',
        },
      })
      await ask('get /v1/projects/{ref}/config/auth')
      const ofPostgres = { work_mem: '8MB', max_parallel_workers: 4, hot_standby_feedback: true }
      await ask('put /v1/projects/{ref}/config/database/postgres', { json: ofPostgres })
      expect(await ask('get /v1/projects/{ref}/config/database/postgres')).toEqual(ofPostgres)
      await ask('patch /v1/projects/{ref}/config/storage', { json: { fileSizeLimit: 1_000_000 } })
      await ask('patch /v1/projects/{ref}/config/realtime', {
        json: { max_channels_per_client: 7 },
      })
      expect(await ask('get /v1/projects/{ref}/config/realtime')).toMatchObject({
        max_channels_per_client: 7,
      })
    })

    test('refusals', async () => {
      const [issuer] = await ask<{ id: string }[]>(
        'get /v1/projects/{ref}/config/auth/third-party-auth',
      )
      const tpa_id = issuer?.id ?? ''
      const ofIssuer = 'get /v1/projects/{ref}/config/auth/third-party-auth/{tpa_id}'
      expect(await ask(ofIssuer, {}, { tpa_id })).toEqual(issuer)
      for (const operation of REFUSED) {
        const [method = '', path = ''] = operation.split(' ')
        const place = path.replace('{ref}', platform.ref).replace('{tpa_id}', tpa_id)
        const { status, body } = await platform.request(method.toUpperCase(), place, { json: {} })
        expect({ operation, status, body }).toEqual({
          operation,
          status: 501,
          body: { message: expect.any(String) as string },
        })
      }
    })

    test('all operations', () => {
      // Those need a server that makes backups: backups.test.ts.
      const isOfBackups = (one: string) => one.includes('/database/backups/')
      const missing = Object.keys(operations).filter((one) => !asked.has(one) && !isOfBackups(one))
      expect(missing.sort()).toEqual([...REFUSED].sort())
    })
  },
)
