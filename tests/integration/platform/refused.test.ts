import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform } from './support.ts'

describe.skipIf(inject('own') === null)('what only the owner of the machine can do', () => {
  let platform: Platform
  let reader: string

  beforeAll(async () => {
    platform = await Platform.start()
    reader = await platform.createToken('--scopes', 'read-only')
  })

  test.each([
    'POST /pause',
    'POST /restore',
    'POST /restore/cancel',
    'DELETE /vanity-subdomain',
    'POST /vanity-subdomain/activate',
    'POST /vanity-subdomain/check-availability',
    'DELETE /custom-hostname',
    'POST /custom-hostname/initialize',
    'POST /readonly/temporary-disable',
    'PUT /jit-access',
    'PUT /database/jit',
    'DELETE /database/jit/00000000-0000-4000-8000-000000000000',
    'POST /config/disk',
    'POST /read-replicas/setup',
    'PUT /pgsodium',
  ])('%s is refused with a sentence', async (operation) => {
    const [method = '', place = ''] = operation.split(' ')
    const { status, body } = await platform.project(method, place, { json: {} })
    expect(status).toBe(501)
    expect(body.message).toMatch(/ .* /)
    expect(body.message).not.toContain('Cannot')
    const forbidden = await platform.project(method, place, { json: {}, token: reader })
    expect(forbidden.status).toBe(403)
    const elsewhere = `/v1/projects/${'a'.repeat(20)}${place}`
    expect((await platform.request(method, elsewhere, { json: {} })).status).toBe(404)
  })

  test('regions are no project', async () => {
    const place = '/v1/projects/available-regions?organization_slug=x'
    const { status, body } = await platform.request('GET', place)
    expect(status).toBe(501)
    expect(body.message).toContain('regions')
    expect((await platform.request('GET', place, { token: reader })).status).toBe(501)
  })

  test('other methods of these paths are not found', async () => {
    expect((await platform.project('GET', '/pause')).status).toBeGreaterThanOrEqual(404)
    expect((await platform.project('POST', '/paused', { json: {} })).status).toBe(404)
  })
})
