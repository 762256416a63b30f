import { randomUUID } from 'node:crypto'

import { expect, inject, test } from 'vitest'

import { describeOwnServer, newUser, newAddress, ok, PASSWORD, sql, there } from '../auth/users.ts'

/** Fields that a user must not be able to set. */
const wanted = {
  id: randomUUID(),
  role: 'service_role',
  aud: 'administrators',
  is_super_admin: true,
  is_sso_user: true,
  is_anonymous: false,
  email_confirm: true,
  email_confirmed_at: '2020-01-01T00:00:00Z',
  confirmed_at: '2020-01-01T00:00:00Z',
  raw_app_meta_data: { role: 'admin' },
  user_metadata: { role: 'admin' },
}

async function send(method: string, path: string, token: string, body: object): Promise<Response> {
  const { url, anonKey: apikey } = inject('access')
  const headers = { apikey, authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return await fetch(`${url}/auth/v1/${path}`, { method, headers, body: JSON.stringify(body) })
}

/** Returns the columns that decide about rights. */
const rights = (email: string) =>
  sql(`select role, aud, coalesce(is_super_admin, false), is_sso_user, email_confirmed_at is not null,
              raw_app_meta_data->>'role', raw_user_meta_data->>'role'
         from auth.users where email = '${email}'`)

describeOwnServer('fields that are not for users', () => {
  test('are passed over at sign-up', async () => {
    const { anonKey } = inject('access')
    const email = newAddress()
    const fields = { email, password: PASSWORD, app_metadata: { role: 'admin' }, ...wanted }
    const response = await send('POST', 'signup', anonKey, fields)
    expect(response.status).toBe(200)
    expect(await response.json()).not.toMatchObject({ id: wanted.id })
    expect(await rights(email)).toBe('authenticated|authenticated|f|f|f||')
  })

  test('are passed over when a user changes, and refused where they are known', async () => {
    const { id, email, session } = await newUser()
    const changed = await send('PUT', 'user', session.access_token, wanted)
    expect(changed.status).toBe(200)
    expect(await changed.json()).toMatchObject({ id, role: 'authenticated' })
    const known = { app_metadata: { role: 'admin' } }
    expect((await send('PUT', 'user', session.access_token, known)).status).toBe(403)
    expect(await rights(email)).toBe('authenticated|authenticated|f|f|t||')
  })

  test('are passed over at a refresh, and metadata stays below its own claim', async () => {
    const { id, client, session } = await newUser()
    await ok(client.auth.updateUser({ data: { role: 'service_role', sub: wanted.id } }))
    const fields = { refresh_token: session.refresh_token, user_id: wanted.id, ...wanted }
    const path = 'token?grant_type=refresh_token'
    const response = await send('POST', path, inject('access').anonKey, fields)
    const { access_token: token } = (await response.json()) as { access_token: string }
    const payload = Buffer.from(there(token.split('.')[1]), 'base64url').toString()
    expect(JSON.parse(payload)).toMatchObject({
      sub: id,
      role: 'authenticated',
      aud: 'authenticated',
      user_metadata: { role: 'service_role' },
    })
  })
})
