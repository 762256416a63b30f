import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform } from './support.ts'

describe.skipIf(inject('own') === null)('settings of Postgres', () => {
  let platform: Platform
  const place = '/config/database/postgres'

  beforeAll(async () => {
    platform = await Platform.start()
  })

  const change = (json: unknown) => platform.project('PUT', place, { json })
  const shown = async (name: string) => (await platform.server.psql(`show ${name}`)).trim()

  test('are those that were changed, and a change names all of them', async () => {
    expect(await platform.project('GET', place)).toMatchObject({ status: 200, body: {} })
    const values = { work_mem: '7MB', statement_timeout: '90000', hot_standby_feedback: true }
    expect(await change(values)).toMatchObject({ status: 200, body: values })
    expect(await shown('work_mem')).toBe('7MB')
    const others = { max_locks_per_transaction: 100, work_mem: '7MB' }
    expect(await change(others)).toMatchObject({ status: 200, body: others })
    expect((await platform.project('GET', place)).body).toEqual(others)
    expect(await shown('max_locks_per_transaction')).toBe('100')
    expect(await shown('statement_timeout')).toBe('0')
    expect(await change({})).toMatchObject({ status: 200, body: {} })
    expect(await shown('max_locks_per_transaction')).toBe('64')
  })

  test('that need a restart wait for it, if they are told to', async () => {
    const before = await shown('track_commit_timestamp')
    const values = { track_commit_timestamp: true }
    expect((await change({ ...values, restart_database: false })).status).toBe(200)
    expect((await platform.project('GET', place)).body).toEqual(values)
    expect(await shown('track_commit_timestamp')).toBe(before)
    // Nothing is new in it, but now it may be restarted.
    expect((await change(values)).status).toBe(200)
    expect(await shown('track_commit_timestamp')).toBe('on')
    await change({})
  })

  test.each([
    [{ work_mem: 'much' }, 'invalid value for parameter "work_mem": "much"'],
    [{ work_mem: '9MB', max_wal_senders: 1e6 }, '1000000 is outside the valid range'],
    [{ archive_command: 'touch /tmp/x' }, 'Unrecognized key: "archive_command"'],
    [{ max_connections: 20 }, 'max_connections: the services of this server need at least 80'],
    [{ statement_timeout: '5ms' }, 'statement_timeout: it holds for the services'],
  ])('are refused as a whole: %j', async (values, message) => {
    const kept = { work_mem: '6MB' }
    await change(kept)
    const { status, body } = await change(values)
    expect({ status, body }).toMatchObject({ status: 400 })
    expect(body.message).toContain(message)
    expect((await platform.project('GET', place)).body).toEqual(kept)
    expect(await shown('work_mem')).toBe('6MB')
  })

  test('with which Postgres does not start are taken back, and it runs', async () => {
    const kept = { work_mem: '6MB' }
    await change(kept)
    const { status, body } = await change({ work_mem: '9MB', shared_buffers: '8000GB' })
    expect({ status, body }).toMatchObject({ status: 400 })
    expect(body.message).toMatch(/^Postgres does not start with these settings[^]*shared memory/)
    expect(await shown('work_mem')).toBe('6MB')
    expect((await platform.project('GET', place)).body).toEqual(kept)
    const { anonKey, url } = platform.server.access
    const headers = { apikey: anonKey }
    await expect
      .poll(async () => (await fetch(`${url}/rest/v1/`, { headers })).status)
      .toBeLessThan(500)
  })
})
