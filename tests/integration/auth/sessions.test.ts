import {
  AuthApiError,
  AuthRetryableFetchError,
  AuthSessionMissingError,
} from '@supabase/supabase-js'
import { expect, inject, test } from 'vitest'

import { connect } from '../../support/client.ts'
import { visitor } from '../clients.ts'
import { describeBackstage, member, ok, refusal, signedIn, sql, there } from './people.ts'

/** Returns the claims of a token, unchecked. */
function claimsOf(token: string): Record<string, unknown> {
  const payload = Buffer.from(there(token.split('.')[1]), 'base64url').toString()
  return JSON.parse(payload) as Record<string, unknown>
}

test('the access token tells who, how and from which session', async () => {
  const { id, email, session } = await member()
  expect(session.token_type).toBe('bearer')
  expect(session.expires_in).toBe(3600)
  expect(claimsOf(session.access_token)).toMatchObject({
    sub: id,
    email,
    phone: '',
    role: 'authenticated',
    aud: 'authenticated',
    aal: 'aal1',
    is_anonymous: false,
    session_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    amr: [{ method: 'password', timestamp: expect.any(Number) as number }],
    exp: there(session.expires_at),
  })
})

describeBackstage('claims', () => {
  test('they are verified with the published key alone', async () => {
    const { id, client, session } = await member()
    const { claims, header } = there(await ok(client.auth.getClaims()))
    expect(claims.sub).toBe(id)
    expect(header.alg).toBe('ES256')
    const { url } = inject('access')
    const answer = await fetch(`${url}/auth/v1/.well-known/jwks.json`)
    const { keys } = (await answer.json()) as { keys: { kid: string }[] }
    expect(keys.map(({ kid }) => kid)).toContain(header.kid)

    const [head, body, signature] = session.access_token.split('.')
    const forged = Buffer.from(JSON.stringify({ ...claims, role: 'service_role' }))
    const token = [head, forged.toString('base64url'), signature].join('.')
    expect(body).not.toBe(forged.toString('base64url'))
    expect(await refusal(client.auth.getClaims(token))).toMatchObject({ code: 'invalid_jwt' })
    expect(await refusal(client.auth.getUser(token))).toMatchObject({
      status: 403,
      code: 'bad_jwt',
    })
  })
})

test('a refresh replaces both tokens and keeps the session', async () => {
  const { id, client, session } = await member()
  const events: string[] = []
  client.auth.onAuthStateChange((event) => void events.push(event))
  const { session: next } = await ok(client.auth.refreshSession())
  expect(next?.refresh_token).not.toBe(session.refresh_token)
  const [before, after] = [session, there(next)].map(({ access_token }) => claimsOf(access_token))
  expect(after?.session_id).toBe(before?.session_id)
  expect((await ok(client.auth.getUser())).user.id).toBe(id)
  expect(events).toContain('TOKEN_REFRESHED')
})

test('a client that lost the answer to a refresh gets it again', async () => {
  const { session } = await member()
  const { refresh_token } = session
  const first = await ok(visitor().auth.refreshSession({ refresh_token }))
  const repeated = await ok(visitor().auth.refreshSession({ refresh_token }))
  expect(repeated.session?.refresh_token).toBe(first.session?.refresh_token)
})

describeBackstage('copied refresh tokens', () => {
  test('one that comes back later ends the whole session', async () => {
    const { client, session } = await member()
    const { refresh_token } = session
    await ok(client.auth.refreshSession())
    const { session: latest } = await ok(client.auth.refreshSession())
    const thief = await refusal(visitor().auth.refreshSession({ refresh_token }))
    expect(thief).toBeInstanceOf(AuthApiError)
    expect(thief).toMatchObject({
      status: 400,
      code: 'refresh_token_already_used',
      message: 'Invalid Refresh Token: Already Used',
    })
    const owner = visitor().auth.refreshSession({ refresh_token: there(latest).refresh_token })
    expect(await refusal(owner)).toMatchObject({ status: 400, code: 'refresh_token_already_used' })
  })

  test('of twenty refreshes at once all get the same new token', async () => {
    const { session } = await member()
    const { refresh_token } = session
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ok(visitor().auth.refreshSession({ refresh_token }))),
    )
    const tokens = new Set(answers.map(({ session: next }) => there(next).refresh_token))
    expect(tokens.size).toBe(1)
    expect(tokens.has(refresh_token)).toBe(false)
  })
})

test('tokens that are handed over open the same session elsewhere', async () => {
  const { id, session } = await member()
  const other = visitor()
  await ok(other.auth.setSession(session))
  expect((await ok(other.auth.getUser())).user.id).toBe(id)
})

test('signing out locally ends this session, others ends the others, and global ends all', async () => {
  const { email, client } = await member()
  const [second, third] = [await signedIn(email), await signedIn(email)]
  expect((await client.auth.signOut({ scope: 'local' })).error).toBeNull()
  expect((await client.auth.getSession()).data.session).toBeNull()
  await ok(second.client.auth.getUser())

  expect((await second.client.auth.signOut({ scope: 'others' })).error).toBeNull()
  const ended = await refusal(third.client.auth.getUser())
  expect(ended).toBeInstanceOf(AuthSessionMissingError)
  await ok(second.client.auth.getUser())

  const fourth = await signedIn(email)
  expect((await second.client.auth.signOut({ scope: 'global' })).error).toBeNull()
  expect(await refusal(fourth.client.auth.getUser())).toBeInstanceOf(AuthSessionMissingError)
  const { refresh_token } = fourth.session
  expect(await refusal(visitor().auth.refreshSession({ refresh_token }))).toMatchObject({
    code: 'refresh_token_not_found',
  })
})

test('without a session the client itself refuses', async () => {
  const client = visitor()
  expect(await refusal(client.auth.getUser())).toBeInstanceOf(AuthSessionMissingError)
  expect(await refusal(client.auth.refreshSession())).toBeInstanceOf(AuthSessionMissingError)
  const password = 'a password for nobody'
  expect(await refusal(client.auth.updateUser({ password }))).toBeInstanceOf(
    AuthSessionMissingError,
  )
})

test('an unreachable server gives an error that can be retried', async () => {
  const { anonKey } = inject('access')
  const client = connect('http://127.0.0.1:9', anonKey)
  const answer = client.auth.signInWithPassword({ email: 'a@b.example', password: 'whatever' })
  expect(await refusal(answer)).toBeInstanceOf(AuthRetryableFetchError)
})

describeBackstage('sessions in the database', () => {
  test('an administrator who deletes the row ends the session', async () => {
    const { id, client } = await member()
    await sql(`delete from auth.sessions where user_id = '${id}'`)
    expect(await refusal(client.auth.getUser())).toBeInstanceOf(AuthSessionMissingError)
  })
})
