import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform, send } from './support.ts'

describe.skipIf(inject('own') === null)('the generators of postgres-meta', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start()
    await platform.server.psql(`
      create table public.people (id int primary key, name text not null);
      create table public.profiles (id int primary key references public.people);
      create schema shop; create table shop.goods (id int primary key)`)
  })

  /** Sends a request, by default with the key of the service. */
  const get = (place: string, apikey = platform.server.access.serviceKey) =>
    send<string>(platform.url, 'GET', `/pg/generators/${place}`, { headers: { apikey } })

  test('describe the database for supabase-js', async () => {
    const { status, headers, body } = await get(
      'typescript?detect_one_to_one_relationships=true&included_schemas=',
    )
    expect(status).toBe(200)
    expect(headers.get('content-type')).toContain('text/plain')
    const same = await platform.project<{ types: string }>('GET', '/types/typescript')
    expect(body).toBe(same.body.types)
    expect(body).toContain('people: {')
  })

  test('describe what is asked for', async () => {
    const { body } = await get('typescript?included_schemas=shop,public&postgrest_version=13')
    expect(body).toContain('goods: {')
    expect(body).toContain('PostgrestVersion: "13"')
    expect(body).not.toContain('isOneToOne')
    expect((await get('typescript?postgrest_version=1%22%3B')).status).toBe(400)
  })

  test('are for holders of secret keys, and for supabase-js only', async () => {
    expect((await get('typescript', platform.server.access.anonKey)).status).toBe(403)
    for (const language of ['go', 'swift', 'python']) expect((await get(language)).status).toBe(404)
  })
})
