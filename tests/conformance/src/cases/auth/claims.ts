import type { Context } from '../../context.ts'
import { group } from '../../case.ts'
import {
  account,
  claimsOf,
  freshPhone,
  gotrue,
  headerOf,
  removesUserOf,
  userOf,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

const fields = 'https://supabase.com/docs/guides/auth/jwt-fields'

export const claims = group('auth.claims', {
  title: 'What an access token says',
  source: fields,
  needs: ['service'],
})

const metadata = { app_metadata: { team: 'east' }, user_metadata: { nick: 'Ace' } }

/** Signs in, and gives what the response says beside what its token says. */
async function signsIn(t: Context) {
  const phone = freshPhone()
  const { id, email, password } = await account(t, { phone, phone_confirm: true, ...metadata })
  const response = await t.post('token?grant_type=password', { email, password })
  response.has(200, { access_token: some.token })
  const { expires_in, expires_at } = response.json as Record<string, number>
  const token = claimsOf(response.field('access_token'))
  return { id, email, phone, expires_in, expires_at, token }
}

type SignIn = Awaited<ReturnType<typeof signsIn>>
const table: [string, string, (one: SignIn) => Record<string, unknown>][] = [
  ['sub', 'the subject is the id of the user', ({ id }) => ({ sub: id })],
  ['aud', 'the audience is a text: authenticated', () => ({ aud: 'authenticated' })],
  ['iss', 'the issuer is a text', () => ({ iss: some.string })],
  ['role', 'the role is that of signed-in users', () => ({ role: 'authenticated' })],
  ['email', 'the address is there', ({ email }) => ({ email })],
  ['phone', 'the number is there', ({ phone }) => ({ phone })],
  [
    'app-metadata',
    'the data of the application are there, with the providers',
    () => ({ app_metadata: partly({ team: 'east', provider: 'email', providers: some.array }) }),
  ],
  ['user-metadata', 'the metadata are there', () => ({ user_metadata: partly({ nick: 'Ace' }) })],
  ['session-id', 'the session is named by a UUID', () => ({ session_id: some.uuid })],
  ['is-anonymous', 'whoever has an address is not anonymous', () => ({ is_anonymous: false })],
  ['aal', 'a password alone is the first level of assurance', () => ({ aal: 'aal1' })],
  [
    'amr',
    'the method of the sign-in is there with its time',
    () => ({ amr: [{ method: 'password', timestamp: some.number }] }),
  ],
  ['exp', 'the token ends when the session says', ({ expires_at }) => ({ exp: expires_at })],
]
for (const [name, promise, expected] of table) {
  claims.case(name, promise, async (t) => {
    const one = await signsIn(t)
    t.equal(one.token, partly(expected(one)), null)
  })
}

claims.case('iat', 'a token is as long as the session says', async (t) => {
  const { token, expires_in } = await signsIn(t)
  t.equal(Number(token.exp) - Number(token.iat), expires_in, null)
})

claims.case(
  'no-phone',
  'the claim of the number is empty where there is none',
  { source: gotrue('token.go', 291) },
  async (t) => {
    const { email, password } = await account(t)
    const response = await t.post('token?grant_type=password', { email, password })
    response.has(200, { access_token: some.token })
    t.equal(claimsOf(response.field('access_token')), partly({ phone: '', email }), null)
  },
)

claims.case('header', 'the header names the algorithm and the type', async (t) => {
  const { email, password } = await account(t)
  const response = await t.post('token?grant_type=password', { email, password })
  response.has(200, { access_token: some.token })
  t.equal(
    headerOf(response.field('access_token')),
    partly({ alg: /^(HS256|RS256|ES256|EdDSA)$/, typ: 'JWT' }),
    null,
  )
})

claims.case(
  'role.own',
  'the role that an administrator gives is in the next token',
  { source: 'https://supabase.com/docs/reference/javascript/auth-admin-updateuserbyid' },
  async (t) => {
    const { email, password } = await account(t, { role: 'conformance_referee' })
    const response = await t.post('token?grant_type=password', { email, password })
    response.has(200, { user: partly({ role: 'conformance_referee' }) })
    t.equal(claimsOf(response.field('access_token')), partly({ role: 'conformance_referee' }), null)
  },
)

claims.case(
  'anonymous',
  'the token of an anonymous user says so, and how it was got',
  { source: 'https://supabase.com/docs/guides/auth/auth-anonymous' },
  async (t) => {
    const response = await t.post('signup', {})
    if (response.field('error_code') === 'anonymous_provider_disabled') {
      t.absent('anonymous sign-ins are off')
    }
    removesUserOf(t, response)
    response.has(200, { access_token: some.token })
    t.equal(
      claimsOf(response.field('access_token')),
      partly({
        sub: userOf(response).id,
        is_anonymous: true,
        email: '',
        amr: [partly({ method: 'anonymous' })],
      }),
      null,
    )
  },
)
