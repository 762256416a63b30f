import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform, send } from './support.ts'

describe.skipIf(inject('own') === null)('requests that are refused', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start({ env: { BASALT_DATABASE_LISTEN: '127.0.0.1:0' } })
  })

  test.each([
    ['POST', '/secrets', {}, /a list, found \{\}/],
    ['POST', '/secrets', [{ name: 'A' }], /a text, found null/],
    ['PATCH', '', [], /an object/],
    ['POST', '/api-keys', 'text', /an object, found "text"/],
  ])('are told in plain words what %s %s takes', async (method, place, json, expected) => {
    const { status, body } = await platform.project(method, place, { json })
    expect(status).toBe(400)
    expect(body.message).toMatch(expected)
    expect(body.message).not.toMatch(/input type|list_|parse|payload|occurred/)
  })

  test('are told that a body is no JSON', async () => {
    const headers = { 'Content-Type': 'application/json' }
    const { status, body } = await platform.project('POST', '/secrets', { body: '{', headers })
    expect(status).toBe(400)
    expect(body.message).toMatch(/^The body is not JSON/)
  })

  test('name an address that is none', async () => {
    const json = { ipv4_addresses: ['192.0.2.1', 'x'] }
    const { status, body } = await platform.project('DELETE', '/network-bans', { json })
    expect(status).toBe(400)
    expect(body.message).toContain('"x"')
  })

  test('register clients of agents without a password in their addresses, and not too many', async () => {
    const register = (redirect: string) =>
      send(platform.url, 'POST', '/v1/oauth/register', { json: { redirect_uris: [redirect] } })
    for (const redirect of [
      'https://claude.ai@evil.example/callback',
      'https://user:secret@agent.example/callback',
      'http://user@127.0.0.1/callback',
    ])
      expect((await register(redirect)).status).toBe(400)
    const answers = await Promise.all(
      Array.from({ length: 70 }, () => register('https://agent.example/callback')),
    )
    const states = answers.map(({ status }) => status)
    expect(states).toContain(201)
    expect(states).toContain(429)
  })
})
