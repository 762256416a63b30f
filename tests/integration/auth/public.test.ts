import { expect, inject, test } from 'vitest'

import { visitor } from '../clients.ts'

test('an unknown user and a wrong password are refused alike', async () => {
  const { error } = await visitor().auth.signInWithPassword({
    email: 'nobody@club.example',
    password: 'wrong one',
  })
  expect(error).toMatchObject({
    status: 400,
    code: 'invalid_credentials',
    message: 'Invalid login credentials',
  })
})

test('a forged session is refused', async () => {
  const { error } = await visitor().auth.getUser('not.a.token')
  expect(error).toMatchObject({ status: 403, code: 'bad_jwt' })
})

test('a rubbish refresh token is refused', async () => {
  const { error } = await visitor().auth.refreshSession({ refresh_token: 'abcdefghijkl' })
  expect(error).toMatchObject({ status: 400, code: 'refresh_token_not_found' })
})

test('the key set can be fetched without a key', async () => {
  const answer = await fetch(`${inject('access').url}/auth/v1/.well-known/jwks.json`)
  expect(answer.status).toBe(200)
  const { keys } = (await answer.json()) as { keys: Record<string, unknown>[] }
  for (const key of keys) {
    expect(key).toHaveProperty('kid')
    expect(key).not.toHaveProperty('d')
    expect(key).not.toHaveProperty('k')
  }
})
