import { randomUUID } from 'node:crypto'

import { expect, test } from 'vitest'

import { service, visitor } from '../clients.ts'
import {
  arrive,
  describeBackstage,
  inbox,
  member,
  newAddress,
  ok,
  PASSWORD,
  refusal,
  signedIn,
  there,
  WELCOME,
} from './people.ts'

const admin = () => service().auth.admin

test('a user is created with everything at once', async () => {
  const email = newAddress()
  const { user } = await ok(
    admin().createUser({
      email,
      password: PASSWORD,
      email_confirm: true,
      user_metadata: { full_name: 'Ann Ashby' },
      app_metadata: { plan: 'gold' },
    }),
  )
  expect(user).toMatchObject({
    email,
    user_metadata: { full_name: 'Ann Ashby' },
    app_metadata: { plan: 'gold', provider: 'email', providers: ['email'] },
  })
  const { client } = await signedIn(email)
  const { claims } = there(await ok(client.auth.getClaims()))
  expect(claims.app_metadata).toMatchObject({ plan: 'gold' })
  expect(await refusal(admin().createUser({ email }))).toMatchObject({
    status: 422,
    code: 'email_exists',
  })
})

test('users are listed in pages', async () => {
  await Promise.all([member(), member(), member()])
  const { users, ...first } = await ok(admin().listUsers({ page: 1, perPage: 2 }))
  expect(users).toHaveLength(2)
  expect(first).toMatchObject({ aud: 'authenticated', nextPage: 2 })
  const total = there('total' in first ? first.total : undefined)
  expect(total).toBeGreaterThanOrEqual(3)
  const { users: next } = await ok(admin().listUsers({ page: 2, perPage: 2 }))
  expect(next.map(({ id }) => id)).not.toContain(users[0]?.id)
})

test('a user is shown, changed and deleted', async () => {
  const { id, email, client } = await member()
  expect((await ok(admin().getUserById(id))).user).toMatchObject({ id, email })
  const next = newAddress()
  const changes = { email: next, user_metadata: { a: 1 }, app_metadata: { b: 2 }, role: 'editor' }
  const { user } = await ok(admin().updateUserById(id, changes))
  expect(user).toMatchObject({ id, email: next, user_metadata: { a: 1 }, app_metadata: { b: 2 } })
  await ok(admin().updateUserById(id, { password: 'chosen by an administrator' }))
  const old = visitor().auth.signInWithPassword({ email: next, password: PASSWORD })
  expect(await refusal(old)).toMatchObject({ code: 'invalid_credentials' })

  await ok(admin().deleteUser(id))
  expect(await refusal(admin().getUserById(id))).toMatchObject({
    status: 404,
    code: 'user_not_found',
  })
  expect(await refusal(client.auth.refreshSession())).toMatchObject({ status: 400 })
})

test('a softly deleted user leaves a row without an address', async () => {
  const { id, email } = await member()
  await ok(admin().deleteUser(id, true))
  const { user } = await ok(admin().getUserById(id))
  expect(there(user).deleted_at).toEqual(expect.any(String))
  expect(there(user).email).not.toBe(email)
  await ok(admin().createUser({ email }))
})

test('a session is ended by its token', async () => {
  const { email, client, session } = await member()
  const other = await signedIn(email)
  const { error } = await admin().signOut(session.access_token, 'local')
  expect(error).toBeNull()
  expect(await refusal(client.auth.getUser())).toMatchObject({ name: 'AuthSessionMissingError' })
  await ok(other.client.auth.getUser())
})

describeBackstage('invitations', () => {
  test('an invitation lets somebody in, who then chooses a password', async () => {
    const email = newAddress()
    const options = { data: { role: 'steward' }, redirectTo: WELCOME }
    const { user } = await ok(admin().inviteUserByEmail(email, options))
    expect(user).toMatchObject({ email, user_metadata: { role: 'steward' } })
    expect(there(user).invited_at).toEqual(expect.any(String))
    const mail = await inbox().newest(email)
    expect(mail.subject).toBe("You've been invited")
    const client = await arrive(mail.link)
    await ok(client.auth.updateUser({ password: PASSWORD }))
    await signedIn(email)
    expect(await refusal(admin().inviteUserByEmail(email))).toMatchObject({
      status: 422,
      code: 'email_exists',
    })
  })
})

describeBackstage('links', () => {
  test('links of each type lead in, without a mail', async () => {
    const options = { redirectTo: WELCOME }
    const [fresh, guest] = [newAddress(), newAddress()]
    const [known, forgetful] = [await member(), await member()]
    const links = await Promise.all([
      ok(admin().generateLink({ type: 'signup', email: fresh, password: PASSWORD, options })),
      ok(admin().generateLink({ type: 'invite', email: guest, options })),
      ok(admin().generateLink({ type: 'magiclink', email: known.email, options })),
      ok(admin().generateLink({ type: 'recovery', email: forgetful.email, options })),
    ])
    for (const { properties, user } of links) {
      expect(properties.redirect_to).toBe(WELCOME)
      const client = await arrive(properties.action_link)
      expect((await ok(client.auth.getUser())).user.id).toBe(user.id)
      expect(await inbox().all(there(user.email))).toEqual([])
    }
  })

  test('a change of address takes both links', async () => {
    const { id, email } = await member()
    const newEmail = newAddress()
    const link = async (type: 'email_change_current' | 'email_change_new') =>
      (await ok(admin().generateLink({ type, email, newEmail }))).properties
    const [current, next] = [await link('email_change_current'), await link('email_change_new')]
    const verify = (token_hash: string) =>
      ok(visitor().auth.verifyOtp({ token_hash, type: 'email_change' }))
    await verify(current.hashed_token)
    const { user } = await verify(next.hashed_token)
    expect(user).toMatchObject({ id, email: newEmail })
  })

  test('a link for nobody is refused', async () => {
    const answer = admin().generateLink({ type: 'recovery', email: newAddress() })
    expect(await refusal(answer)).toMatchObject({ status: 404, code: 'user_not_found' })
  })
})

test('nobody else may do any of it', async () => {
  const { client } = await member()
  for (const someone of [visitor(), client]) {
    const { admin: attempted } = someone.auth
    expect((await refusal(attempted.listUsers())).status).toBeGreaterThanOrEqual(401)
    expect((await refusal(attempted.deleteUser(randomUUID()))).status).toBeGreaterThanOrEqual(401)
  }
  expect(await refusal(client.auth.admin.listUsers())).toMatchObject({
    status: 403,
    code: 'not_admin',
  })
})

test('many administrators create, change and delete at once, and nothing is half done', async () => {
  const email = newAddress()
  const created = await Promise.all(
    Array.from({ length: 8 }, () => admin().createUser({ email, password: PASSWORD })),
  )
  const winners = created.filter(({ error }) => error === null)
  expect(winners).toHaveLength(1)
  for (const { error } of created) {
    if (error !== null) expect(error).toMatchObject({ status: 422, code: 'email_exists' })
  }
  const id = there(winners[0]?.data.user).id

  await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      ok(admin().updateUserById(id, { user_metadata: { [`key${n}`]: n } })),
    ),
  )
  const { user } = await ok(admin().getUserById(id))
  expect(Object.keys(there(user).user_metadata)).toEqual(
    expect.arrayContaining(Array.from({ length: 8 }, (_, n) => `key${n}`)),
  )

  const deleted = await Promise.all(Array.from({ length: 8 }, () => admin().deleteUser(id)))
  expect(deleted.filter(({ error }) => error === null)).toHaveLength(1)
  for (const { error } of deleted) {
    if (error !== null) expect(error).toMatchObject({ status: 404, code: 'user_not_found' })
  }
})
