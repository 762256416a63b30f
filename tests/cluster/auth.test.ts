/** Sessions and limits, on two nodes. */
import { expect, inject, test } from 'vitest'

import { Inbox } from '../support/inbox.ts'
import { visitor } from '../support/notes.ts'
import { found, unique } from './clients.ts'

const { all, one, two, inboxes } = inject('cluster')
const password = 'correct horse battery'

const account = () => ({ email: `${unique('user')}@example.com`, password })

test('a session of one node is refreshed and known at the other', async () => {
  const who = account()
  const { session } = found(await visitor(one).auth.signUp(who))
  expect(session).not.toBeNull()
  if (!session) return

  const there = visitor(two)
  const refreshed = found(await there.auth.refreshSession(session)).session
  expect(refreshed?.refresh_token).not.toBe(session.refresh_token)
  const { user } = found(await visitor(one).auth.getUser(refreshed?.access_token))
  expect(user.email).toBe(who.email)
  found(await visitor(all).auth.signInWithPassword(who))
})

test('who signs out everywhere is signed out at both nodes', async () => {
  const who = account()
  const [here, there] = [visitor(one), visitor(two)]
  found(await here.auth.signUp(who))
  const { session } = found(await there.auth.signInWithPassword(who))

  expect((await here.auth.signOut({ scope: 'global' })).error).toBeNull()
  const { error } = await visitor(two).auth.refreshSession({
    refresh_token: session.refresh_token,
  })
  expect(error?.code).toBe('refresh_token_not_found')
  const known = await visitor(two).auth.getUser(session.access_token)
  expect(known.error?.name).toBe('AuthSessionMissingError')
})

test('a code that one node has mailed is accepted by the other', async () => {
  const { email } = account()
  expect((await visitor(one).auth.signInWithOtp({ email })).error).toBeNull()
  const mails = await Promise.all(inboxes.map((url) => new Inbox(url).all(email)))
  expect(mails.map((kept) => kept.length)).toEqual([1, 0])
  const token = mails[0]?.[0]?.code ?? ''
  const { session } = found(await visitor(two).auth.verifyOtp({ email, token, type: 'email' }))
  expect(session?.user.email).toBe(email)
})

/** Calls each node in turn as a caller from `address`; returns how many calls the rate limit let through. */
async function granted(address: string, calls: number, call: (url: string) => Promise<Response>) {
  let count = 0
  for (let n = 0; n < calls; n += 1) {
    const { status } = await call((n % 2 === 0 ? one : two).url)
    if (status !== 429) count += 1
  }
  return count
}

/** Returns the headers that a content network and the balancer add. */
const from = (address: string) => ({ 'x-forwarded-for': `${address}, 127.0.0.1` })

test('verifications are limited for both nodes together', async () => {
  const address = '203.0.113.7'
  const count = await granted(address, 80, (url) =>
    fetch(`${url}/auth/v1/verify?token=none&type=signup`, {
      headers: from(address),
      redirect: 'manual',
    }),
  )
  expect(count).toBe(30)
})

test('refreshes are limited for both nodes together', async () => {
  const address = '203.0.113.8'
  const refresh = (url: string) =>
    fetch(`${url}/auth/v1/token?grant_type=refresh_token`, {
      method: 'POST',
      headers: { ...from(address), apikey: one.anonKey, 'content-type': 'application/json' },
      body: '{"refresh_token":"abcdefghijkl"}',
    })
  const count = await granted(address, 120, refresh)
  expect(count).toBeGreaterThanOrEqual(30)
  // Each node sends its counts to the other and does not wait for a response, so some calls more may get through.
  expect(count).toBeLessThan(45)
})
