import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { enrolls, freshPhone, gotrue, openapi, refusal } from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

export const phone = group('auth.mfa-phone', {
  title: 'A second factor: telephones',
  source: 'https://supabase.com/docs/guides/auth/auth-mfa/phone',
  needs: ['service'],
  probe: (t) => enrolls(t, { factor_type: 'phone', phone: `+${freshPhone()}` }),
})

phone.case('enroll', 'a number becomes a factor', async (t) => {
  const user = await t.user()
  const number = `+${freshPhone()}`
  const { data, error } = await user.client.auth.mfa.enroll({
    ...{ factorType: 'phone', phone: number, friendlyName: 'mine' },
  })
  t.data(
    { data, error },
    partly({ id: some.uuid, type: 'phone', friendly_name: 'mine', phone: number }),
  )
})

for (const [name, body, line] of [
  ['none', {}, 144],
  ['malformed', { phone: 'call me' }, 149],
] as const) {
  phone.case(
    `number.${name}`,
    name === 'none' ? 'a number has to be told' : 'a number that is none is refused',
    { source: gotrue('mfa.go', line) },
    async (t) => {
      const user = await t.user()
      await t
        .post('factors', { factor_type: 'phone', ...body }, { as: user })
        .is(...refusal(400, 'validation_failed'))
    },
  )
}

phone.case(
  'replaced',
  'a number that waits is replaced when it is enrolled again',
  { source: gotrue('mfa.go', 152) },
  async (t) => {
    const user = await t.user()
    const body = { factor_type: 'phone', phone: `+${freshPhone()}` }
    await t.post('factors', { ...body, friendly_name: 'one' }, { as: user }).is(200)
    await t.post('factors', { ...body, friendly_name: 'two' }, { as: user }).is(200)
    await t
      .get('user', { as: user })
      .has(200, { factors: [partly({ friendly_name: 'two', factor_type: 'phone' })] })
  },
)

export const webauthn = group('auth.mfa-webauthn', {
  title: 'A second factor: WebAuthn',
  source: openapi(1017),
  needs: ['service'],
  probe: (t) => enrolls(t, { factor_type: 'webauthn' }),
})

const key = (t: Context, as: { token: string }) =>
  t.post('factors', { factor_type: 'webauthn', friendly_name: 'key' }, { as })

webauthn.case('enroll', 'a key becomes a factor', { source: gotrue('mfa.go', 198) }, async (t) => {
  const user = await t.user()
  await key(t, user).is(200, { id: some.uuid, type: 'webauthn', friendly_name: 'key' })
})

webauthn.case('challenge', 'a challenge holds what the key is asked for', async (t) => {
  const user = await t.user()
  const factor = await key(t, user)
  await t.post(`factors/${factor.field('id')}/challenge`, {}, { as: user }).has(200, {
    ...{ id: some.uuid, type: 'webauthn', expires_at: some.number },
    webauthn: partly({
      type: 'create',
      credential_options: partly({
        publicKey: partly({
          ...{ challenge: some.string, rp: some.object, user: some.object },
          pubKeyCredParams: some.array,
        }),
      }),
    }),
  })
})

for (const [name, body, line] of [
  ['none', {}, 882],
  ['type', { webauthn: { type: 'guess', credential_response: {} } }, 884],
  ['response', { webauthn: { type: 'create' } }, 886],
] as const) {
  webauthn.case(
    `verify.${name}`,
    {
      none: "the key's response has to be told",
      type: 'a key is made or asked',
      response: 'what the key said has to be told',
    }[name],
    { source: gotrue('mfa.go', line) },
    async (t) => {
      const user = await t.user()
      const factor = await key(t, user)
      const path = `factors/${factor.field('id')}`
      const challenge = await t.post(`${path}/challenge`, {}, { as: user }).is(200)
      await t
        .post(`${path}/verify`, { challenge_id: challenge.field('id'), ...body }, { as: user })
        .is(...refusal(400, 'validation_failed'))
    },
  )
}
