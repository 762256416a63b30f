import { connect } from '../support/client.ts'
import { expect, test } from './fixtures.ts'
import { createUser } from './support.ts'

const email = 'steward@terrace.example'
const password = 'correct horse battery staple'

test('a user signs in, is known to the tables, refreshes and signs out', async ({ server }) => {
  const id = await createUser(server, email, password, 'Sam Steward')
  const { url, anonKey } = server.access
  const client = connect(url, anonKey)

  const signedIn = await client.auth.signInWithPassword({ email, password })
  expect(signedIn.error).toBeNull()
  expect(signedIn.data.user?.id).toBe(id)

  const profile = await client.from('profiles').select('email, full_name').eq('id', id).single()
  expect(profile.data).toEqual({ email, full_name: 'Sam Steward' })
  const valid = await client.rpc('validate_session_integrity', { user_id: id })
  expect(valid).toMatchObject({ data: true, error: null })

  const refreshed = await client.auth.refreshSession()
  expect(refreshed.error).toBeNull()
  expect(refreshed.data.session?.refresh_token).not.toBe(signedIn.data.session?.refresh_token)
  expect((await client.auth.getUser()).data.user?.email).toBe(email)

  expect((await client.auth.signOut()).error).toBeNull()
  const token = refreshed.data.session?.access_token
  const afterwards = await connect(url, anonKey, { token }).rpc('validate_session_integrity', {
    user_id: id,
  })
  expect(afterwards.data).toBe(false)
})
