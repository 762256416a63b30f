/**
 * A typical use of Supabase's stock client of auth, with a server at `url` that requires no API key:
 * `node auth-client.mjs <url> <a token with role service_role>`. Ends with an error at the first thing that is not as it
 * is with Supabase Auth.
 */
import assert from 'node:assert/strict'

import { GoTrueAdminApi, GoTrueClient } from '@supabase/supabase-js'

const [url = '', serviceToken = ''] = process.argv.slice(2)
const credentials = { email: 'ada@example.com', password: 'correct horse battery' }

/**
 * Returns what a result without an error holds.
 * @template {{ data: unknown, error: unknown }} Result
 * @param {Result} result
 * @returns {Extract<Result, { error: null }>['data']}
 */
function ok({ data, error }) {
  assert.equal(error, null)
  return data
}

const client = new GoTrueClient({ url, autoRefreshToken: false, persistSession: false })
const signedUp = ok(await client.signUp(credentials))
assert.equal(signedUp.user?.email, credentials.email)
assert.ok(signedUp.session)
ok(await client.signInWithPassword(credentials))
const before = (await client.getSession()).data.session
const refreshed = ok(await client.refreshSession())
assert.notEqual(refreshed.session?.refresh_token, before?.refresh_token)
assert.equal(ok(await client.getUser()).user?.id, signedUp.user.id)
ok(await client.updateUser({ data: { name: 'Ada' } }))

const admin = new GoTrueAdminApi({ url, headers: { Authorization: `Bearer ${serviceToken}` } })
const { user } = ok(await admin.createUser({ email: 'bob@example.com', email_confirm: true }))
assert.equal(ok(await admin.listUsers()).users.length, 2)
const link = ok(await admin.generateLink({ type: 'magiclink', email: 'bob@example.com' }))
console.log(link.properties?.action_link)
ok(await admin.deleteUser(user?.id ?? ''))
assert.equal(ok(await admin.listUsers()).users.length, 1)

assert.equal((await client.signOut()).error, null)
const refused = await client.signInWithPassword({ ...credentials, password: 'wrong' })
assert.equal(refused.error?.code, 'invalid_credentials')
