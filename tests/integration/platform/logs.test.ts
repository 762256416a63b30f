import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform, send, type Refusal } from './support.ts'

/** What a query of logs answers. */
interface Logs<T = Row> {
  result: T[]
  error?: string
}

/** A row of the table. */
interface Row {
  id: string
  timestamp: string
  event_message: string
  source: string
  severity_text: string
  log_attributes: Record<string, string>
}

/** The level of a row, as the Supabase CLI 3.1 asks for it. */
const LEVEL = `multiIf(
  source = 'postgres_logs', multiIf(upper(log_attributes['parsed.error_severity']) in ('ERROR','FATAL','PANIC'), 'error', upper(log_attributes['parsed.error_severity']) = 'WARNING', 'warn', lower(log_attributes['parsed.error_severity'])),
  source in ('edge_logs','function_edge_logs'), multiIf(toInt32OrZero(log_attributes['response.status_code']) >= 500, 'error', toInt32OrZero(log_attributes['response.status_code']) >= 400, 'warn', toInt32OrZero(log_attributes['response.status_code']) >= 100, 'info', ''),
  source = 'auth_logs', multiIf(lower(log_attributes['level']) in ('error','fatal') or toInt32OrZero(log_attributes['status']) >= 500, 'error', lower(log_attributes['level']) in ('warn','warning') or toInt32OrZero(log_attributes['status']) >= 400, 'warn', lower(log_attributes['level'])),
  source = 'function_logs', multiIf(lower(log_attributes['level']) in ('error','fatal'), 'error', lower(log_attributes['level']) in ('warn','warning'), 'warn', lower(log_attributes['level'])),
  log_attributes['subservice'] = 'worker_ingress_logs', multiIf(toInt32OrZero(log_attributes['status']) >= 500, 'error', toInt32OrZero(log_attributes['status']) >= 400, 'warn', toInt32OrZero(log_attributes['status']) >= 100, 'info', ''),
  log_attributes['subservice'] = 'worker_api_logs', if(log_attributes['event'] = 'build_failed', 'error', 'info'),
  '')`

/** A function that writes to the console, and fails if it is asked to. */
const TALKING = `Deno.serve((request) => {
  console.log('said something')
  console.error('complained')
  console.log('with sb_secret_0123456789abcdefghij_12345678')
  return new Response('', { status: request.method === 'POST' ? 503 : 200 })
})`

const MARK = 'sesame-street'

const soon = { timeout: 20_000 }

describe.skipIf(inject('own') === null)('logs over the platform interface', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start({ files: { 'functions/local/index.ts': TALKING } })
    await platform.server.psql('create table public.lamps (id bigint primary key, name uuid)')
    await platform.deploy('talking', TALKING)
    expect((await platform.call('talking')).status).toBe(200)
    expect((await platform.call('local')).status).toBe(200)
    const { anonKey } = platform.server.access
    const headers = { apikey: anonKey, 'User-Agent': 'lamp/1.0' }
    for (const place of [
      '/rest/v1/nowhere',
      `/rest/v1/lamps?name=eq.${MARK}`,
      `/rest/v1/nothing?apikey=${MARK}`,
      `/auth/v1/verify?token=${MARK}&type=signup`,
      `/storage/v1/object/sign/a/b?token=${MARK}`,
      `/realtime/v1/websocket?apikey=${MARK}`,
    ])
      await fetch(platform.url + place, { headers, redirect: 'manual' })
    const account = { email: `${MARK}@example.org`, password: MARK }
    await send(platform.url, 'POST', '/auth/v1/token?grant_type=password', {
      json: account,
      headers,
    })
    await send(platform.url, 'GET', '/rest/v1/lamps', { headers, token: MARK })
    await platform.query(`select '${MARK}' from missing`)
    await platform.query(`create role other password '${MARK}' nonsense`)
    await platform.query(`insert into lamps values (1), (1) -- ${MARK}`)
  }, 120_000)

  /** Runs a query. */
  async function query<T = Row>(sql: string, hours = 1) {
    const end = Date.now() + 1000
    const window = new URLSearchParams({
      sql,
      iso_timestamp_start: new Date(end - hours * 3_600_000).toISOString(),
      iso_timestamp_end: new Date(end).toISOString(),
    })
    const place = `/analytics/endpoints/logs?${window.toString()}`
    const { status, body } = await platform.project<Logs<T>>('GET', place)
    expect({ sql, status, error: body.error }).toEqual({ sql, status: 200, error: undefined })
    return body.result
  }

  async function refused(sql: string) {
    const place = `/analytics/endpoints/logs?sql=${encodeURIComponent(sql)}`
    const { status, body } = await platform.project<Partial<Logs> & Partial<Refusal>>('GET', place)
    return { status, message: body.error ?? body.message }
  }

  test.each([
    ['edge_logs', 'request.path', '/rest/v1/nowhere'],
    ['function_edge_logs', 'function_name', 'talking'],
    ['function_logs', 'level', 'error'],
    ['auth_logs', 'path', '/token'],
    ['storage_logs', 'request.path', '/storage/v1/object/sign/a/b'],
    ['realtime_logs', 'request.path', '/realtime/v1/websocket'],
    ['postgres_logs', 'parsed.error_severity', 'ERROR'],
  ])('have what belongs to %s', async (source, name, value) => {
    const sql = `select * from logs where source = '${source}' and log_attributes['${name}'] = '${value}'`
    await expect.poll(async () => (await query(sql)).length, soon).toBeGreaterThan(0)
    const [row] = await query(sql)
    expect(row?.id).toMatch(/^[0-9a-f]{8}-/)
    expect(Date.now() - Date.parse(row?.timestamp ?? '')).toBeLessThan(120_000)
  })

  test('have no error of the server’s own statements', async () => {
    await platform.query('select 1/0')
    expect((await platform.project('GET', '/advisors/security')).status).toBe(200)
    expect((await platform.project('GET', '/advisors/performance')).status).toBe(200)
    await platform.query('select 1/0')
    const sql = `select event_message from logs where source = 'postgres_logs'
      and log_attributes['parsed.error_severity'] = 'ERROR' order by timestamp desc limit 2`
    await expect
      .poll(async () => (await query(sql)).map(({ event_message }) => event_message), soon)
      .toEqual(['division by zero', 'division by zero'])
  })

  test('name functions as they are listed', async () => {
    const { id = '' } = (await platform.listed('talking')) ?? {}
    const rows = await query<{ event_message: string; name: string; call: string }>(`
      select event_message, log_attributes['function_name'] as name, log_attributes['execution_id'] as call
      from logs where source = 'function_logs' and log_attributes['function_id'] = '${id}' order by timestamp`)
    const said = rows.filter(({ call }) => call !== '')
    expect(said.map((row) => row.event_message)).toEqual([
      'said something',
      'complained',
      'with sb_secret_…',
    ])
    const calls = await query<{ id: string }>(
      `select log_attributes['execution_id'] as id from logs where source = 'function_edge_logs'
       and log_attributes['function_id'] = '${id}'`,
    )
    expect(calls.map((row) => row.id)).toEqual([said[0]?.call])
  })

  test('hold no secret, and no value of a client', async () => {
    const everything = JSON.stringify(await query('select * from logs'))
    expect(everything).toContain('lamp/1.0')
    expect(everything).toContain('create role other password ?')
    const { anonKey, serviceKey } = platform.server.access as Record<string, string>
    expect(everything).not.toContain('postgres:postgres@')
    for (const secret of [MARK, anonKey, serviceKey, platform.token].filter(Boolean))
      expect(everything).not.toContain(secret)
  })

  test('answer what the Supabase CLI 3.1 asks', async () => {
    const sql = `select id, toUnixTimestamp64Milli(timestamp) as ts_ms, source, severity_text, ${LEVEL} as level, event_message, log_attributes from logs
      where (source = 'edge_logs' or source = 'auth_logs' or source = 'postgres_logs' or source = 'function_logs')
      and (${LEVEL}) in ('error', 'warn') and positionCaseInsensitiveUTF8(event_message, 'COMPLAINED') > 0
      order by ts_ms desc, id desc limit 100`
    const rows = await query<Row & { ts_ms: number; level: string }>(sql)
    expect(rows.map((row) => row.level)).toEqual(['error', 'error'])
    const [{ id, ts_ms } = { id: '', ts_ms: 0 }] = rows
    expect(ts_ms).toBeTypeOf('number')
    const next =
      await query(`select id, toUnixTimestamp64Milli(timestamp) as ts_ms from logs where source = 'function_logs'
      and (toUnixTimestamp64Milli(timestamp) > ${String(ts_ms)} or (toUnixTimestamp64Milli(timestamp) = ${String(ts_ms)} and id > '${id}'))
      order by ts_ms asc, id asc limit 1000`)
    expect(next.map((row) => row.id)).not.toContain(id)
  })

  test('understand what else is common in ClickHouse', async () => {
    const [row] = await query<Record<string, unknown>>(`
      -- how many
      select count() as all, countIf(log_attributes['response.status_code'] >= '400') as refused,
             uniq(id) as ids, toStartOfHour(max(timestamp)) as hour, if(1 == 1, 'yes', 'no') as same
      from logs where source = 'edge_logs' and timestamp > now() - interval 1 hour and \`source\` != 'it\\'s';`)
    expect(row).toMatchObject({ same: 'yes' })
    expect(row?.all).toBe(row?.ids)
    expect(row?.refused).toBeGreaterThan(0)
    const [named] = await query<Record<string, string>>(
      "select log_attributes['request.method'], log_attributes['nothing'] from logs where source = 'edge_logs' limit 1",
    )
    expect(Object.keys(named ?? {})).toEqual([
      "log_attributes['request.method']",
      "log_attributes['nothing']",
    ])
    expect(await query('select distinct source from logs order by 1')).toContainEqual({
      source: 'auth_logs',
    })
  })

  test('are all that a query reaches', async () => {
    await platform.server.psql(`
      create function public.open_secret() returns text language sql security definer as $$ select 'open' $$;
      create table public.for_all (a int); grant select on public.for_all to anon, authenticated`)
    for (const sql of [
      'select * from auth.users',
      'select * from basalt_platform.access_tokens',
      'select * from for_all',
      'select open_secret()',
      'select public.open_secret()',
      'select * from pg_roles',
      "select set_config('role', 'postgres', false)",
      "select current_setting('app.settings.jwt_secret')",
      "select query_to_xml('select 1', true, true, '')",
      'insert into logs values (1)',
      'with x as (delete from auth.users returning 1) select * from x',
      'select 1; select 2',
      'select pg_sleep(1)',
      'nonsense',
    ]) {
      const { status, message } = await refused(sql)
      expect({ sql, status }).toEqual({ sql, status: 200 })
      expect(message, sql).toBeTypeOf('string')
    }
    expect((await refused('select nothing from logs')).message).toContain(
      '"nothing" does not exist',
    )
  })

  test('are limited in time', async () => {
    const { status } = await refused('select count(*) from generate_series(1, 1000000000000)')
    expect(status).toBe(408)
  }, 30_000)

  test.each([
    ['iso_timestamp_start=yesterday', 400],
    ['iso_timestamp_start=2026-01-01T00:00:00Z&iso_timestamp_end=2026-01-02T00:00:01Z', 400],
    ['iso_timestamp_start=2026-01-02T00:00:00Z&iso_timestamp_end=2026-01-01T00:00:00Z', 400],
    ['iso_timestamp_start=2026-01-01T00:00:00Z&iso_timestamp_end=2026-01-02T00:00:00Z', 200],
    ['', 200],
  ])('belong to a time of a day at most: %s', async (parameters, status) => {
    const answer = await platform.project<Logs>('GET', `/analytics/endpoints/logs?${parameters}`)
    expect(answer.status).toBe(status)
    if (parameters.startsWith('iso') && status === 200) expect(answer.body.result).toEqual([])
  })

  test('need a scope', async () => {
    const allowed = await platform.createToken('--scopes', 'analytics_logs_read')
    const other = await platform.createToken('--scopes', 'database_read,database_write')
    const place = '/analytics/endpoints/logs.all'
    expect((await platform.project('GET', place, { token: allowed })).status).toBe(200)
    expect((await platform.project('GET', place, { token: other })).status).toBe(403)
  })

  test('are read by agents', async () => {
    const call = async (name: string, args: object) => {
      const { body } = await platform.request<{ result: { content: { text: string }[] } }>(
        'POST',
        '/mcp?read_only=true',
        {
          json: {
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name, arguments: { project_id: platform.ref, ...args } },
          },
          headers: { Accept: 'application/json, text/event-stream' },
        },
      )
      return body.result.content[0]?.text ?? ''
    }
    for (const [service, expected] of [
      ['api', '/rest/v1/nothing'],
      ['postgres', 'does not exist'],
      ['edge-function', '/functions/v1/talking'],
      ['edge-function-runtime', 'complained'],
      ['auth', '/token'],
      ['storage', '/storage/v1/object/sign/a/b'],
      ['realtime', '/realtime/v1/websocket'],
      ['branch-action', 'result'],
    ])
      expect(await call('get_logs', { service })).toContain(expected)
    const answer = await call('query_logs', {
      sql: "select count() as n from logs where source = 'edge_logs'",
    })
    expect(answer).toMatch(/untrusted-data-.*\\"n\\/)
    expect(await call('query_logs', { sql: 'select nonsense' })).toContain('does not exist')
    expect(await call('query_logs', { sql: 'select 1', iso_timestamp_start: 'x' })).toContain(
      'error',
    )
  })
})

describe.skipIf(inject('own') === null)('the memory of logs', () => {
  test('is limited: the oldest are forgotten', async () => {
    const platform = await Platform.start({ config: '[basalt.platform]\nlog_memory = "64KB"\n' })
    for (let number = 1; number <= 60; number++)
      await send(platform.url, 'GET', `/rest/v1/number-${String(number)}`)
    const sql =
      "select log_attributes['request.path'] as path from logs where source = 'edge_logs' order by timestamp, id"
    const place = `/analytics/endpoints/logs?sql=${encodeURIComponent(sql)}`
    const { body } = await platform.project<Logs<{ path: string }>>('GET', place)
    expect(body.result.length).toBeGreaterThan(5)
    expect(body.result.length).toBeLessThan(50)
    expect(body.result.at(-1)?.path).toBe('/rest/v1/number-60')
  })

  test('can be none', async () => {
    const platform = await Platform.start({ config: '[basalt.platform]\nlog_memory = 0\n' })
    const { status, body } = await platform.project('GET', '/analytics/endpoints/logs')
    expect(status).toBe(501)
    expect(body.message).toContain('log_memory')
  })
})
