import { expect, test } from 'vitest'

import { service, visitor } from '../clients.ts'
import {
  arrive,
  describeBackstage,
  fragment,
  inbox,
  member,
  newAddress,
  ok,
  open,
  PASSWORD,
  refusal,
  signedIn,
  sql,
  there,
} from './people.ts'

test('metadata is merged, and null takes a key away', async () => {
  const { client } = await member()
  const events: string[] = []
  client.auth.onAuthStateChange((event) => void events.push(event))
  await ok(client.auth.updateUser({ data: { shirt: 7, pitch: 'left' } }))
  const { user } = await ok(client.auth.updateUser({ data: { shirt: null, foot: 'right' } }))
  expect(user.user_metadata).toMatchObject({ pitch: 'left', foot: 'right' })
  expect(user.user_metadata).not.toHaveProperty('shirt')
  expect(events).toContain('USER_UPDATED')
  const { session } = await ok(client.auth.refreshSession())
  expect(there(session).user.user_metadata).toMatchObject({ foot: 'right' })
})

test('nobody makes an administrator of himself', async () => {
  const { client } = await member()
  const attributes = { data: {}, app_metadata: { role: 'service_role' } }
  expect(await refusal(client.auth.updateUser(attributes))).toMatchObject({
    status: 403,
    code: 'not_admin',
  })
})

test('a new password ends all other sessions', async () => {
  const { email, client } = await member()
  const other = await signedIn(email)
  await ok(client.auth.updateUser({ password: 'another good password' }))
  await ok(client.auth.getUser())
  expect(await refusal(other.client.auth.getUser())).toMatchObject({
    name: 'AuthSessionMissingError',
  })
})

describeBackstage('changes that want proof', () => {
  test('an old session needs the code from the mail for a new password', async () => {
    const { id, email, client } = await member()
    const password = 'another good password'
    await sql(`update auth.sessions set created_at = now() - interval '2 days'
                where user_id = '${id}'`)
    expect(await refusal(client.auth.updateUser({ password }))).toMatchObject({
      status: 400,
      code: 'reauthentication_needed',
    })
    await ok(client.auth.reauthenticate())
    const mail = await inbox().newest(email)
    const [nonce] = mail.subject.split(' ')
    expect(await refusal(client.auth.updateUser({ password, nonce: '000000' }))).toMatchObject({
      status: 422,
      code: 'reauthentication_not_valid',
    })
    await ok(client.auth.updateUser({ password, nonce: there(nonce) }))
    await ok(visitor().auth.signInWithPassword({ email, password }))
  })

  test('both addresses confirm that one takes the place of the other', async () => {
    const { id, email, client } = await member()
    const next = newAddress()
    const { user } = await ok(client.auth.updateUser({ email: next }))
    expect(user).toMatchObject({ email, new_email: next })
    const [toOld, toNew] = [await inbox().newest(email), await inbox().newest(next)]

    const first = fragment(await open(toNew.link))
    expect(first.get('message')).toContain('confirm link sent to the other email')
    expect((await ok(client.auth.getUser())).user.email).toBe(email)
    const arrived = await arrive(toOld.link)
    expect((await ok(arrived.auth.getUser())).user).toMatchObject({ id, email: next })
    await ok(visitor().auth.signInWithPassword({ email: next, password: PASSWORD }))
  })

  test('codes do what the links do', async () => {
    const { id, email, client } = await member()
    const next = newAddress()
    await ok(client.auth.updateUser({ email: next }))
    const [toOld, toNew] = [await inbox().newest(email), await inbox().newest(next)]
    const type = 'email_change'
    const first = await ok(client.auth.verifyOtp({ email, token: toOld.code, type }))
    expect(first).toEqual({ user: null, session: null })
    const { user } = await ok(client.auth.verifyOtp({ email: next, token: toNew.code, type }))
    expect(user).toMatchObject({ id, email: next })
  })

  test('the mails of a change are sent again', async () => {
    const { email, client } = await member()
    const next = newAddress()
    await ok(client.auth.updateUser({ email: next }))
    await ok(client.auth.resend({ type: 'email_change', email }))
    expect(await inbox().all(next)).toHaveLength(2)
  })

  test('an address that somebody has is refused', async () => {
    const [one, other] = [await member(), await member()]
    expect(await refusal(one.client.auth.updateUser({ email: other.email }))).toMatchObject({
      status: 422,
      code: 'email_exists',
    })
  })
})

describeBackstage('anonymous users', () => {
  test('somebody anonymous keeps everything when an address is added', async () => {
    const client = visitor()
    const { user, session } = await ok(
      client.auth.signInAnonymously({ options: { data: { a: 1 } } }),
    )
    expect(user).toMatchObject({ is_anonymous: true, user_metadata: { a: 1 }, app_metadata: {} })
    const claims = there(await ok(client.auth.getClaims(there(session).access_token)))
    expect(claims.claims).toMatchObject({ is_anonymous: true, role: 'authenticated' })

    const email = newAddress()
    await ok(client.auth.updateUser({ email }))
    const { code } = await inbox().newest(email)
    const changed = await ok(client.auth.verifyOtp({ email, token: code, type: 'email_change' }))
    expect(changed.user).toMatchObject({ id: there(user).id, email, is_anonymous: false })
    await ok(client.auth.updateUser({ password: PASSWORD }))
    const { user: back } = await ok(
      visitor().auth.signInWithPassword({ email, password: PASSWORD }),
    )
    expect(back).toMatchObject({ id: there(user).id, user_metadata: { a: 1 } })
  })

  test('a password needs an address first', async () => {
    const client = visitor()
    await ok(client.auth.signInAnonymously())
    expect(await refusal(client.auth.updateUser({ password: PASSWORD }))).toMatchObject({
      status: 422,
      code: 'validation_failed',
    })
  })
})

test('a deleted user is gone at once', async () => {
  const { id, client } = await member()
  await ok(service().auth.admin.deleteUser(id))
  expect(await refusal(client.auth.getUser())).toMatchObject({
    status: 403,
    code: 'user_not_found',
  })
})
