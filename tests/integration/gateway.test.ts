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

describe('browsers of other origins', () => {
  test('a preflight allows every header that the clients send', async () => {
    const { url } = inject('access')
    const answer = await fetch(`${url}/rest/v1/faqs`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://site.example',
        'Access-Control-Request-Method': 'PATCH',
        'Access-Control-Request-Headers':
          'apikey,authorization,x-client-info,x-retry-count,x-new-header',
      },
    })
    expect(answer.ok).toBe(true)
    expect(answer.headers.get('access-control-allow-origin')).toMatch(
      /^(\*|https:\/\/site\.example)$/,
    )
    expect(answer.headers.get('access-control-allow-methods')).toContain('PATCH')
    expect(answer.headers.get('access-control-allow-headers')).toContain('x-new-header')
  })

  test('an error can be read', async () => {
    const { url, anonKey } = inject('access')
    const headers = { apikey: anonKey, Origin: 'https://site.example' }
    const answer = await fetch(`${url}/rest/v1/no_such_table`, { headers })
    expect(answer.status).toBe(404)
    expect(answer.headers.get('access-control-allow-origin')).not.toBeNull()
  })
})
