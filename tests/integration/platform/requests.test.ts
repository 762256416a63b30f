import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform, saying, type Content } from './support.ts'

describe.skipIf(inject('own') === null)('unusual requests to the platform interface', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start()
    await platform.deploy('there', saying('hello'))
  })

  const file = (metadata: object) => {
    const form = new FormData()
    form.append('metadata', JSON.stringify(metadata))
    form.append('file', new Blob([saying('x')]), 'supabase/functions/a/index.ts')
    return form
  }
  const entrypoint_path = 'supabase/functions/a/index.ts'
  const cases: [string, string, Content?][] = [
    ['POST', '/database/query', { json: { query: 'select \0' } }],
    ['POST', '/database/query', { json: { query: "select 'a\0b'", read_only: true } }],
    ['POST', '/database/query', { json: { query: 'select $1::text', parameters: ['a\0b'] } }],
    ['POST', '/database/migrations', { json: { query: 'select 1 \0', name: 'nul' } }],
    ['POST', '/database/migrations', { json: { query: 'select 1', name: 'a\0b' } }],
    ['PATCH', '', { json: { name: 'a\0b' } }],
    ['POST', '/api-keys', { json: { type: 'secret', name: 'nul', description: 'a\0b' } }],
    ['POST', '/secrets', { json: [{ name: 'A', value: 'a\0b' }] }],
    ['DELETE', '/secrets', { json: ['a\0b'] }],
    ['GET', '/functions/a%00b'],
    ['GET', '/functions/a%00b/body'],
    ['DELETE', '/functions/a%00b'],
    ['PATCH', '/functions/there', { json: { name: 'a\0b' } }],
    ['PATCH', '/functions/a%00b', { json: { name: 'ab' } }],
    ['POST', '/functions/deploy?slug=a', { body: file({ name: 'a\0b', entrypoint_path }) }],
    ['POST', '/functions/deploy?slug=a%00b', { body: file({ name: 'ab', entrypoint_path }) }],
    ['GET', '/types/typescript?included_schemas=a%00b'],
    ['PATCH', '/postgrest', { json: { db_schema: 'a\0b' } }],
    ['PATCH', '/config/auth', { json: { site_url: 'https://example.org/\0' } }],
    ['POST', '/cli/login-role', { json: { read_only: 'a\0b' } }],
  ]

  test.each(cases)('with the character NUL are refused: %s %s', async (method, place, content) => {
    const { status, body } = await platform.project(method, place, content)
    expect([[400, 404], body]).toEqual([
      expect.arrayContaining([status]),
      { message: expect.any(String) as string },
    ])
  })

  test.each([
    ['POST', '/query', { query: 'select \0' }],
    ['GET', '/tables?included_schemas=a%00b'],
    ['GET', '/extensions/a%00b'],
    ['GET', '/types?excluded_schemas=a%00b'],
  ] as [string, string, object?][])(
    'with the character NUL are refused: %s /pg%s',
    async (method, place, json) => {
      const headers = { apikey: platform.server.access.serviceKey }
      const { status, body } = await platform.request<unknown>(method, `/pg${place}`, {
        token: '',
        headers,
        ...(json && { json }),
      })
      expect({ status, body }).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('NUL') as string },
      })
    },
  )

  test('for logs with the character NUL are answered with what is wrong', async () => {
    const place = '/analytics/endpoints/logs.all?sql=select%20%27a%00b%27'
    const { status, body } = await platform.project<unknown>('GET', place)
    const error = expect.stringContaining('NUL') as string
    expect({ status, body }).toEqual({ status: 200, body: { result: [], error } })
  })

  /** Sends a message to the MCP server, and returns what it answers as text. */
  async function ask(method: string, params: object, query = '') {
    const { body } = await platform.request<unknown>('POST', `/mcp${query}`, {
      json: { jsonrpc: '2.0', id: 1, method, params },
      headers: { Accept: 'application/json, text/event-stream' },
    })
    return JSON.stringify(body)
  }

  const execute = (query: string, place = '', args: object = { project_id: platform.ref }) =>
    ask('tools/call', { name: 'execute_sql', arguments: { query, ...args } }, place)

  test('of tools with the character NUL are refused', async () => {
    expect(await execute('select \0')).toContain('NUL')
  })

  test('of tools are limited by all values of a parameter that is there several times', async () => {
    const twice = '?read_only=true&read_only=false&features=database,docs&features=database'
    const listed = await ask('tools/list', {}, twice)
    expect(listed).toContain('"execute_sql"')
    expect(listed).not.toMatch(/"(apply_migration|search_docs)"/)
    const select = 'select 40 + 2 as answer'
    const [own, another] = [`project_ref=${platform.ref}`, 'project_ref=aaaaaaaaaaaaaaaaaaaa']
    for (const query of [
      'project_ref=',
      `${own}&${another}`,
      `${another}&${own}`,
      `${another}&project_ref=&${own}`,
    ])
      for (const args of [{}, { project_id: platform.ref }])
        expect({ query, answer: await execute(select, `?${query}`, args) }).toEqual({
          query,
          answer: expect.not.stringContaining('42') as string,
        })
    expect(await execute(select, `?${own}&${own}`, {})).toContain('42')
  })

  test('with one secret twice set its last value', async () => {
    const json = ['first', 'last'].map((value) => ({ name: 'TWICE', value }))
    expect((await platform.project('POST', '/secrets', { json })).status).toBe(201)
    const code = `Deno.serve(() => new Response(Deno.env.get('TWICE')))\n`
    expect((await platform.deploy('twice', code)).status).toBe(201)
    expect((await platform.call('twice')).text).toBe('last')
  })
})
