import { describe, expect, inject, test } from 'vitest'

describe('API keys', () => {
  test('a request without a key is refused, one with a wrong key too', async () => {
    const { url } = inject('access')
    const without = await fetch(`${url}/rest/v1/faqs`)
    expect(without.status).toBe(401)
    expect(await without.json()).toMatchObject({ message: 'No API key found in request' })
    const wrong = await fetch(`${url}/rest/v1/faqs`, { headers: { apikey: 'rubbish' } })
    expect(wrong.status).toBe(401)
    expect(await wrong.json()).toMatchObject({ message: 'Invalid API key' })
  })
})

describe.skipIf(inject('own') === null)('as on hosted Supabase', () => {
  test('the description of REST is for secret keys', async () => {
    const { url, anonKey, serviceKey } = inject('access')
    const root = (apikey: string) => fetch(`${url}/rest/v1/`, { headers: { apikey } })
    expect((await root(serviceKey)).status).toBe(200)
    const refused = await root(anonKey)
    expect(refused.status).toBe(401)
    expect(await refused.json()).toEqual({
      message: 'Invalid API key',
      hint: 'Only the `service_role` API key can be used for this endpoint.',
    })
  })

  test('services name the releases whose interfaces they have', async () => {
    const { url, serviceKey: apikey } = inject('access')
    const ask = (path: string) => fetch(url + path, { headers: { apikey } })
    const auth = await ask('/auth/v1/health')
    const health = (await auth.json()) as { version: string }
    expect(health.version).toMatch(/^v2\.\d+\.\d+$/)
    const storage = await ask('/storage/v1/version')
    expect(await storage.text()).toMatch(/^1\.\d+\.\d+$/)
    const { info } = (await (await ask('/rest/v1/')).json()) as { info: Record<string, string> }
    expect(info.version).toMatch(/^16\.\d+$/)
    for (const { headers } of [auth, storage])
      expect(headers.get('x-basalt-version')).toMatch(/^\d+\.\d+\.\d+/)
  })

  test('GraphQL says that its extension is not there', async () => {
    const { url, anonKey: apikey } = inject('access')
    const body = JSON.stringify({ query: '{ __typename }' })
    const response = await fetch(`${url}/graphql/v1`, { method: 'POST', headers: { apikey }, body })
    expect(response.status).toBe(200)
    const message = 'pg_graphql extension is not enabled.'
    expect(await response.json()).toEqual({ errors: [{ message }] })
    expect((await fetch(`${url}/graphql/v1`, { method: 'POST', body })).status).toBe(401)
  })
})

describe('browsers of other origins', () => {
  test('a preflight allows every header that the clients send', async () => {
    const { url } = inject('access')
    const response = await fetch(`${url}/rest/v1/faqs`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://site.example',
        'Access-Control-Request-Method': 'PATCH',
        'Access-Control-Request-Headers':
          'apikey,authorization,x-client-info,x-retry-count,x-new-header',
      },
    })
    expect(response.ok).toBe(true)
    expect(response.headers.get('access-control-allow-origin')).toMatch(
      /^(\*|https:\/\/site\.example)$/,
    )
    expect(response.headers.get('access-control-allow-methods')).toContain('PATCH')
    expect(response.headers.get('access-control-allow-headers')).toContain('x-new-header')
  })

  test('an error can be read', async () => {
    const { url, anonKey } = inject('access')
    const headers = { apikey: anonKey, Origin: 'https://site.example' }
    const response = await fetch(`${url}/rest/v1/no_such_table`, { headers })
    expect(response.status).toBe(404)
    expect(response.headers.get('access-control-allow-origin')).not.toBeNull()
  })
})
