import { beforeAll, describe, expect, inject, test } from 'vitest'

import { psqlAsSuperuser } from '../../support/server.mjs'
import { Platform } from './support.ts'

describe.skipIf(inject('own') === null)('the logins of the server itself', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start()
  })

  /** Ends all sessions, so that the server has to log in again. */
  const endSessions = () =>
    psqlAsSuperuser(
      platform.server.instance,
      `select count(pg_terminate_backend(pid, 2000)) from pg_stat_activity
        where pid <> pg_backend_pid() and backend_type = 'client backend'`,
    )

  test('survive another password of postgres', async () => {
    const changed = await platform.query("alter user postgres with password 'another'")
    expect(changed.status).toBe(201)
    await endSessions()
    expect(await platform.query('select 1 as one')).toMatchObject({
      status: 201,
      body: [{ one: 1 }],
    })
    const migration = { query: 'create table public.after_password (id int)', name: 'after' }
    const applied = await platform.project('POST', '/database/migrations', { json: migration })
    expect(applied.status).toBe(200)
    expect(platform.log).toMatch(/has changed the password of this role.*postgres/s)
    // With the password that the server has, others log in, too.
    expect(await platform.server.psql('select 2')).toBe('2')
  })

  test('survive other passwords of the roles of services', async () => {
    await psqlAsSuperuser(platform.server.instance, "alter role authenticator password 'another'")
    await endSessions()
    const { url, anonKey } = platform.server.access
    await expect
      .poll(async () => {
        const headers = { apikey: anonKey }
        return (await fetch(`${url}/rest/v1/after_password?select=id`, { headers })).status
      })
      .not.toBeGreaterThanOrEqual(500)
  })

  test('write where the database is read-only by default', async () => {
    const changed = await platform.query(
      'alter database postgres set default_transaction_read_only = on',
    )
    expect(changed.status).toBe(201)
    await endSessions()
    expect((await platform.project('GET', '')).status).toBe(200)
    expect((await platform.query('create table public.written (id int)')).status).toBe(201)
    const reset = await platform.query('alter database postgres reset all')
    expect(reset.status).toBe(201)
  })
})
