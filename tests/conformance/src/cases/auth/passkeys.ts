import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { account, gotrue, refusal } from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

const nobody = (t: Context) => ({
  ...{ as: 'nobody' as const, headers: { apikey: t.target.anonKey } },
})

export const passkeys = group('auth.passkey', {
  title: 'Passkeys',
  source: 'https://supabase.com/docs/guides/auth/passkeys',
  needs: ['service'],
  probe: async (t) => t.present(await t.post('passkeys/authentication/options', {})),
})

passkeys.case(
  'register',
  'who is signed in is told what to ask the device for',
  { source: gotrue('passkey_registration.go', 42) },
  async (t) => {
    const user = await t.user()
    await t.post('passkeys/registration/options', {}, { as: user }).is(200, {
      challenge_id: some.uuid,
      expires_at: some.number,
      options: partly({
        challenge: some.string,
        rp: partly({ id: some.string, name: some.string }),
        user: partly({ id: some.string, name: user.email }),
        pubKeyCredParams: some.array,
        authenticatorSelection: partly({
          ...{ residentKey: 'required', userVerification: 'preferred' },
        }),
      }),
    })
  },
)

passkeys.case(
  'sign-in',
  'nobody in particular is told what to ask the device for',
  { source: gotrue('passkey_authentication.go', 33) },
  (t) =>
    t.post('passkeys/authentication/options', {}).is(200, {
      challenge_id: some.uuid,
      expires_at: some.number,
      options: partly({ challenge: some.string, rpId: some.string }),
    }),
)

passkeys.case(
  'register.nobody',
  'a passkey belongs to who is signed in',
  { source: gotrue('api.go', 357) },
  (t) =>
    t.post('passkeys/registration/options', {}, nobody(t)).is(...refusal(401, 'no_authorization')),
)

const credential = { id: 'x', rawId: 'x', type: 'public-key', response: {} }
const responses: [string, string, Record<string, unknown>, string, number, number][] = [
  [
    'challenge.none',
    'a response names its challenge',
    { credential },
    'validation_failed',
    137,
    84,
  ],
  [
    'credential.none',
    'a response has what the device said',
    { challenge_id: randomUUID() },
    'validation_failed',
    140,
    87,
  ],
  [
    'challenge.malformed',
    'a challenge is named by a UUID',
    { challenge_id: 'seven', credential },
    'validation_failed',
    145,
    92,
  ],
  [
    'challenge.unknown',
    'an unknown challenge is refused',
    { challenge_id: randomUUID(), credential },
    'webauthn_challenge_not_found',
    152,
    98,
  ],
]
for (const [name, promise, body, code, registration, authentication] of responses) {
  passkeys.case(
    `register.${name}`,
    `to register, ${promise}`,
    { source: gotrue('passkey_registration.go', registration) },
    async (t) => {
      const user = await t.user()
      await t.post('passkeys/registration/verify', body, { as: user }).is(...refusal(400, code))
    },
  )
  passkeys.case(
    `sign-in.${name}`,
    `to sign in, ${promise}`,
    { source: gotrue('passkey_authentication.go', authentication) },
    (t) => t.post('passkeys/authentication/verify', body).is(...refusal(400, code)),
  )
}

passkeys.case(
  'challenge.foreign',
  "somebody else's challenge is unknown",
  { source: gotrue('passkey_registration.go', 152) },
  async (t) => {
    const [one, other] = await Promise.all([t.user(), t.user()])
    const options = await t.post('passkeys/registration/options', {}, { as: one }).is(200)
    const body = { challenge_id: options.field('challenge_id'), credential }
    await t
      .post('passkeys/registration/verify', body, { as: other })
      .is(...refusal(400, 'webauthn_challenge_not_found'))
  },
)

passkeys.case(
  'list',
  'a user without passkeys has none',
  { source: gotrue('passkey_manage.go', 34) },
  async (t) => {
    const user = await t.user()
    await t.get('passkeys', { as: user }).is(200, [])
  },
)

for (const [method, line] of [
  ['PATCH', 84],
  ['DELETE', 130],
] as const) {
  passkeys.case(
    `${method === 'PATCH' ? 'rename' : 'delete'}.unknown`,
    `an unknown passkey is not ${method === 'PATCH' ? 'renamed' : 'deleted'}`,
    { source: gotrue('passkey_manage.go', line) },
    async (t) => {
      const user = await t.user()
      await t
        .http(method, `passkeys/${randomUUID()}`, {
          ...{ as: user, ...(method === 'PATCH' ? { body: { friendly_name: 'mine' } } : {}) },
        })
        .is(...refusal(404, 'validation_failed'))
    },
  )
}

for (const [name, friendly_name, line] of [
  ['none', '', 75],
  ['long', 'a'.repeat(121), 78],
] as const) {
  passkeys.case(
    `rename.${name}`,
    `a name has ${name === 'none' ? 'one character at least' : '120 characters at most'}`,
    { source: gotrue('passkey_manage.go', line) },
    async (t) => {
      const user = await t.user()
      await t
        .patch(`passkeys/${randomUUID()}`, { friendly_name }, { as: user })
        .is(...refusal(400, 'validation_failed'))
    },
  )
}

passkeys.case(
  'admin',
  'administrators see the passkeys of a user',
  { source: gotrue('passkey_admin.go', 16) },
  async (t) => {
    const { id } = await account(t)
    await t.get(`admin/users/${id}/passkeys`, { as: 'service' }).is(200, [])
  },
)

passkeys.case(
  'admin.unknown',
  'administrators do not delete an unknown passkey',
  { source: gotrue('passkey_admin.go', 51) },
  async (t) => {
    const { id } = await account(t)
    for (const passkey of [randomUUID(), 'seven']) {
      await t
        .delete(`admin/users/${id}/passkeys/${passkey}`, { as: 'service' })
        .is(...refusal(404, 'validation_failed'))
    }
  },
)
