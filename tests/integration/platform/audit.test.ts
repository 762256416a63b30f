/** The audit log of the platform interface: who has changed what. */
import { setTimeout as pause } from 'node:timers/promises'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { psqlAsSuperuser } from '../../support/server.mjs'
import { Platform, saying } from './support.ts'

describe.skipIf(inject('own') === null)('the audit log of the platform interface', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start({
      env: { BASALT_LOG: 'info', BASALT_DATABASE_LISTEN: '127.0.0.1:0' },
    })
  })

  test('has a line for every change', async () => {
    const token = await platform.createToken('--name', 'auditor')
    const { status } = await platform.project('PATCH', '', { json: { name: 'renamed' }, token })
    expect(status).toBe(200)
    await platform.query('create table public.audited (a int)', { token })
    await platform.query('select nothing_like_this', { token })
    await platform.project('POST', '/secrets', { json: [{ name: 'HUSH', value: 'a' }], token })
    await platform.project('DELETE', '/secrets', { json: ['HUSH'], token })
    const key = await platform.project<{ id: string }>('POST', '/api-keys', {
      json: { type: 'publishable', name: 'audited' },
      token,
    })
    await platform.project('PATCH', `/api-keys/${key.body.id}`, {
      json: { description: 'seen' },
      token,
    })
    await platform.project('DELETE', `/api-keys/${key.body.id}`, { token })
    await platform.project('POST', '/functions', {
      json: { slug: 'audited', name: 'audited', body: saying('a') },
      token,
    })
    await platform.project('PATCH', '/functions/audited', { json: { name: 'other' }, token })
    await platform.project('DELETE', '/functions/audited', { token })
    await platform.project('POST', '/cli/login-role', { json: { read_only: true }, token })
    await platform.project('DELETE', '/cli/login-role', { token })
    const migration = { json: { query: 'select 1', name: 'first' }, token }
    await platform.project('POST', '/database/migrations', migration)
    await platform.project('PUT', '/database/migrations', migration)
    const listed = await platform.project<{ version: string }[]>('GET', '/database/migrations')
    const version = listed.body[0]?.version ?? ''
    await platform.project('PATCH', `/database/migrations/${version}`, {
      json: { name: 'one' },
      token,
    })
    await platform.project('DELETE', `/database/migrations?gte=${version}`, { token })
    await platform.project('PATCH', '/network-restrictions', {
      json: { add: { dbAllowedCidrs: ['192.0.2.0/24'] } },
      token,
    })
    await platform.project('DELETE', '/network-bans', { json: { ipv4_addresses: [] }, token })
    const rows = await platform.query<{ action: string; project: string; address: string }[]>(
      `select action, project, host(address) as address from basalt_platform.audit_log
        where name = 'auditor' order by id`,
    )
    expect(rows.body.map(({ action }) => action)).toEqual([
      'project.rename',
      'database.query',
      'database.query',
      'secrets.set',
      'secrets.delete',
      'api_keys.create',
      'api_keys.update',
      'api_keys.delete',
      'functions.deploy',
      'functions.deploy',
      'functions.delete',
      'database.login_role.create',
      'database.login_role.delete',
      'database.migrations.apply',
      'database.migrations.record',
      'database.migrations.change',
      'database.migrations.roll_back',
      'network.set',
      'network_bans.lift',
    ])
    expect(new Set(rows.body.map(({ project }) => project))).toEqual(new Set([platform.ref]))
    expect(new Set(rows.body.map(({ address }) => address))).toEqual(new Set(['127.0.0.1']))

    await platform.basalt('token', 'revoke', 'auditor')
    const commands = await platform.query(
      `select action, detail from basalt_platform.audit_log
        where name = 'command line' and detail ->> 'name' = 'auditor' order by id`,
    )
    const hint = token.slice(0, 8)
    expect(commands.body).toMatchObject([
      { action: 'tokens.create', detail: { hint: expect.stringContaining(hint) as string } },
      { action: 'tokens.revoke', detail: { hint: expect.stringContaining(hint) as string } },
    ])
    expect(JSON.stringify(commands.body)).not.toContain(token)
  })

  test('has SQL without the passwords in it, as the log of the process does', async () => {
    const secret = 'a secret of the role'
    const sql = `create role audited login password '${secret}'`
    expect((await platform.query(sql)).status).toBe(201)
    const kept = 'create role audited login password<REDACTED>'
    const rows = await platform.query(
      "select detail from basalt_platform.audit_log where action = 'database.query' and detail::text like '%role audited%'",
      { read_only: true },
    )
    expect(rows.body).toEqual([{ detail: { query: kept } }])
    await expect.poll(() => platform.log).toContain(kept)
    expect(platform.log).not.toContain(secret)
  })

  test('has what was changed for a client that has gone, and it is changed', async () => {
    const gone = new AbortController()
    const headers = {
      Authorization: `Bearer ${platform.token}`,
      'Content-Type': 'application/json',
    }
    // The change waits until the client has gone.
    const sql = 'begin; lock basalt_platform.secrets in exclusive mode; select pg_sleep(3)'
    const locked = psqlAsSuperuser(platform.server.instance, sql)
    await pause(500)
    const sent = fetch(`${platform.url}/v1/projects/${platform.ref}/secrets`, {
      method: 'POST',
      headers,
      body: JSON.stringify([{ name: 'LEFT', value: 'behind' }]),
      signal: gone.signal,
    })
    await pause(1000)
    gone.abort()
    await expect(sent).rejects.toThrow('aborted')
    await locked
    await expect
      .poll(() =>
        platform.server.psql(
          "select count(*) from basalt_platform.audit_log where detail::text like '%LEFT%'",
        ),
      )
      .toBe('1')
    const secrets = await platform.project<{ name: string }[]>('GET', '/secrets')
    expect(secrets.body.map(({ name }) => name)).toContain('LEFT')
  })
})
