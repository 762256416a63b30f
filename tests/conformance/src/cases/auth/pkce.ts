import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  account,
  claimsOf,
  freshEmail,
  gotrue,
  pkce,
  redirects,
  refusal,
  removesUserOf,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

const guide = 'https://supabase.com/docs/guides/auth/sessions/pkce-flow'

export const flow = group('auth.pkce', {
  title: 'Codes for browsers: PKCE',
  source: guide,
  needs: ['service'],
})

const sending = { needs: ['service', 'mail'] } as const

const exchanges = (t: Context, auth_code: string, code_verifier: string) =>
  t.post('token?grant_type=pkce', { auth_code, code_verifier })

/** Opens the link of a mail that was asked for with a challenge, and gives the code that it leads back with. */
async function codeFor(
  t: Context,
  email: string,
  endpoint: 'otp' | 'recover' | 'magiclink',
  code_challenge: string,
  code_challenge_method: string,
): Promise<string> {
  await t.post(endpoint, { email, code_challenge, code_challenge_method }).is(200)
  const mail = await t.mails(email).newest()
  const { query } = redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
    query: partly({ code: some.uuid }),
  })
  return query.code ?? ''
}

for (const [method, of] of [
  ['s256', (verifier: string, challenge: string) => challenge],
  ['plain', (verifier: string) => verifier],
] as const) {
  flow.case(
    `exchange.${method}`,
    `a code is exchanged for a session, with the method ${method}`,
    sending,
    async (t) => {
      const { id, email } = await account(t)
      const { verifier, challenge } = pkce()
      const code = await codeFor(t, email, 'otp', of(verifier, challenge), method)
      await exchanges(t, code, verifier).has(200, {
        access_token: some.token,
        refresh_token: some.string,
        user: partly({ id }),
      })
    },
  )
}

flow.case(
  'client',
  'a stock client exchanges the code',
  {
    ...sending,
    source: 'https://supabase.com/docs/reference/javascript/auth-exchangecodeforsession',
  },
  async (t) => {
    const { id, email } = await account(t)
    const stored = new Map<string, string>()
    const client = t.client(t.target.anonKey, {
      auth: {
        flowType: 'pkce',
        persistSession: true,
        storage: {
          getItem: (name) => stored.get(name) ?? null,
          setItem: (name, value) => void stored.set(name, value),
          removeItem: (name) => void stored.delete(name),
        },
      },
    })
    t.ok(await client.auth.signInWithOtp({ email }))
    const mail = await t.mails(email).newest()
    const { query } = redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
      query: partly({ code: some.string }),
    })
    const { data, error } = await client.auth.exchangeCodeForSession(query.code ?? '')
    t.data({ data: data.user, error }, partly({ id, email }))
  },
)

for (const [endpoint, method] of [
  ['magiclink', 'magiclink'],
  ['recover', 'recovery'],
] as const) {
  flow.case(
    `method.${method}`,
    `the token says that the session began with a ${method === 'recovery' ? 'recovery' : 'link'}`,
    { ...sending, source: 'https://supabase.com/docs/guides/auth/jwt-fields' },
    async (t) => {
      const { email } = await account(t)
      const { verifier, challenge } = pkce()
      const code = await codeFor(t, email, endpoint, challenge, 's256')
      const response = await exchanges(t, code, verifier).has(200, { access_token: some.token })
      t.equal(claimsOf(response.field('access_token')), partly({ amr: [partly({ method })] }), null)
    },
  )
}

flow.case('signup', 'the link of a sign-up leads back with a code, too', sending, async (t) => {
  const email = freshEmail(t)
  const { verifier, challenge } = pkce()
  const body = {
    ...{ email, password: `aA1!${verifier}`.slice(0, 40) },
    ...{ code_challenge: challenge, code_challenge_method: 's256' },
  }
  const created = await t.post('signup', body)
  removesUserOf(t, created)
  if ('user' in (created.json as object)) t.absent('addresses need no confirmation')
  const mail = await t.mails(email).newest()
  const { query } = redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
    query: partly({ code: some.uuid }),
  })
  await exchanges(t, query.code ?? '', verifier).has(200, {
    user: partly({ email, email_confirmed_at: some.time }),
  })
})

flow.case(
  'verifier.wrong',
  'another verifier is refused, and the right one is good still',
  { ...sending, source: gotrue('token.go', 250) },
  async (t) => {
    const { id, email } = await account(t)
    const { verifier, challenge } = pkce()
    const code = await codeFor(t, email, 'otp', challenge, 's256')
    await exchanges(t, code, pkce().verifier).is(...refusal(400, 'bad_code_verifier'))
    await exchanges(t, code, verifier).has(200, { user: partly({ id }) })
  },
)

flow.case(
  'verifier.plain',
  'with the method s256 the challenge itself is no verifier',
  { ...sending, source: 'https://datatracker.ietf.org/doc/html/rfc7636#section-4.6' },
  async (t) => {
    const { email } = await account(t)
    const { challenge } = pkce()
    const code = await codeFor(t, email, 'otp', challenge, 's256')
    await exchanges(t, code, challenge).is(...refusal(400, 'bad_code_verifier'))
  },
)

flow.case('code.used', 'a code is good for one time', sending, async (t) => {
  const { email } = await account(t)
  const { verifier, challenge } = pkce()
  const code = await codeFor(t, email, 'otp', challenge, 's256')
  await exchanges(t, code, verifier).is(200)
  await exchanges(t, code, verifier).is(...refusal(404, 'flow_state_not_found'))
})

flow.case(
  'link.used',
  'a link that was used leads back with the reason, in the query and in the fragment',
  { ...sending, source: gotrue('verify.go', 483) },
  async (t) => {
    const { email } = await account(t)
    await t
      .post('otp', { email, code_challenge: pkce().challenge, code_challenge_method: 's256' })
      .is(200)
    const mail = await t.mails(email).newest()
    await t.get(mail.link, { as: 'nobody' }).is(303)
    const reason = partly({ error: 'access_denied', error_code: 'otp_expired' })
    redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
      query: reason,
      fragment: reason,
    })
  },
)

flow.case(
  'link.query',
  'what the address asks stays in it beside the code',
  { ...sending, source: gotrue('verify.go', 534) },
  async (t) => {
    const { email } = await account(t)
    const { redirect_to: site } = await t.prepare('POST', '/auth/v1/admin/generate_link', {
      ...{ type: 'magiclink', email },
    })
    const to = `${new URL(String(site)).origin}/back`
    await t
      .post(`otp?redirect_to=${encodeURIComponent(`${to}?team=east`)}`, {
        ...{ email, code_challenge: pkce().challenge, code_challenge_method: 's256' },
      })
      .is(200)
    const mail = await t.mails(email).newest()
    redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
      to,
      query: partly({ team: 'east', code: some.uuid }),
    })
  },
)

flow.case(
  'code.unknown',
  'a code that was never issued is refused',
  { source: gotrue('token.go', 237) },
  (t) => exchanges(t, randomUUID(), pkce().verifier).is(...refusal(404, 'flow_state_not_found')),
)

for (const [name, body] of [
  ['code', { auth_code: '', code_verifier: 'x' }],
  ['verifier', { auth_code: randomUUID(), code_verifier: '' }],
] as const) {
  flow.case(
    `${name}.none`,
    `an exchange needs a ${name}`,
    { source: gotrue('token.go', 231) },
    (t) => t.post('token?grant_type=pkce', body).is(...refusal(400, 'validation_failed')),
  )
}

const { challenge } = pkce()
const challenges: [string, string, Record<string, unknown>, number][] = [
  [
    'challenge.short',
    'a challenge has 43 characters at least',
    { code_challenge: 'a'.repeat(42) },
    25,
  ],
  [
    'challenge.long',
    'a challenge has 128 characters at most',
    { code_challenge: 'a'.repeat(129) },
    25,
  ],
  [
    'challenge.characters',
    'a challenge has letters, digits and four signs',
    { code_challenge: `${'a'.repeat(43)} +` },
    27,
  ],
  ['challenge.none', 'a method needs a challenge', { code_challenge: '' }, 70],
  [
    'method.none',
    'a challenge needs a method',
    { code_challenge: challenge, code_challenge_method: '' },
    70,
  ],
]
for (const [name, promise, body, line] of challenges) {
  flow.case(name, promise, { source: gotrue('pkce.go', line) }, (t) =>
    t
      .post('recover', { email: freshEmail(t), code_challenge_method: 's256', ...body })
      .is(...refusal(400, 'validation_failed')),
  )
}
