/** The mails of auth: what each says, whom it goes to, and where its link leads. */
import { expect, test } from 'vitest'

import { service, visitor } from '../clients.ts'
import {
  describeOwnServer,
  fragment,
  inbox,
  newUser,
  newAddress,
  ok,
  open,
  PASSWORD,
  there,
  WELCOME,
} from './users.ts'

describeOwnServer('the mail', () => {
  const signIn = (email: string) =>
    ok(visitor().auth.signInWithOtp({ email, options: { emailRedirectTo: WELCOME } }))
  const known = async () => (await newUser()).email
  const unknown = () => Promise.resolve(newAddress())
  const mails: [
    what: string,
    subject: string,
    type: string,
    address: () => Promise<string>,
    ask: (email: string) => Promise<unknown>,
  ][] = [
    [
      'of a sign-up',
      'Confirm your email address',
      'signup',
      unknown,
      (email) => {
        const options = { emailRedirectTo: WELCOME }
        return ok(visitor().auth.signUp({ email, password: PASSWORD, options }))
      },
    ],
    ['of a first sign-in', 'Confirm your email address', 'signup', unknown, signIn],
    ['of a sign-in', 'Your sign-in link', 'magiclink', known, signIn],
    [
      'of a recovery',
      'Reset your password',
      'recovery',
      known,
      (email) => ok(visitor().auth.resetPasswordForEmail(email, { redirectTo: WELCOME })),
    ],
    [
      'of an invitation',
      "You've been invited",
      'invite',
      unknown,
      (email) => ok(service().auth.admin.inviteUserByEmail(email, { redirectTo: WELCOME })),
    ],
  ]

  test.for(mails)('%s has its subject, a code, and a link to the page', async (mail) => {
    const [, subject, type, address, ask] = mail
    const email = await address()
    await ask(email)
    const { link, code, ...rest } = await inbox().newest(email)
    expect(rest.subject).toBe(subject)
    expect(code).toMatch(/^\d{6}$/)
    const landing = await open(link)
    expect(landing.href.startsWith(`${WELCOME}#`)).toBe(true)
    expect(fragment(landing).get('type')).toBe(type)
  })

  test('of a change of address goes to both, and again where it is asked for', async () => {
    const { email, client } = await newUser()
    const next = newAddress()
    await ok(client.auth.updateUser({ email: next }))
    await ok(client.auth.resend({ type: 'email_change', email }))
    for (const address of [email, next]) expect(await inbox().all(address)).toHaveLength(2)
    const [toOld, toNew] = [await inbox().newest(email), await inbox().newest(next)]
    const first = fragment(await open(toNew.link))
    expect(first.get('message')).toContain('confirm link sent to the other email')
    expect(fragment(await open(toOld.link)).get('type')).toBe('email_change')
    expect((await ok(client.auth.getUser())).user.email).toBe(next)
  })

  test('is not sent where somebody could learn by it who has an account, or has the link', async () => {
    const [taken, nobody, guest] = [await newUser(), newAddress(), newAddress()]
    await ok(visitor().auth.signUp({ email: taken.email, password: 'another password' }))
    await ok(visitor().auth.resetPasswordForEmail(nobody))
    const { user } = await ok(service().auth.admin.generateLink({ type: 'invite', email: guest }))
    for (const address of [taken.email, nobody, there(user.email)])
      expect(await inbox().all(address)).toEqual([])
  })
})
