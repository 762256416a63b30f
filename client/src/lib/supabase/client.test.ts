import { expect, it, vi } from 'vitest'

import { AUTH_STORAGE_KEY } from '@/lib/session/auth-storage'
import { supabase } from './client'

/** Answers every request with `body`. Returns the requests. */
function respondWith(body: unknown) {
  const requests: Request[] = []
  vi.stubGlobal('fetch', (input: RequestInfo | URL, init?: RequestInit) => {
    requests.push(new Request(input, init))
    return Promise.resolve(Response.json(body))
  })
  return requests
}

it('tells the server which application calls', async () => {
  const requests = respondWith(true)
  await supabase.rpc('validate_session_integrity', { user_id: 'user-1' })
  expect(requests[0]?.headers.get('x-client-info')).toBe('terrace-web/1.0')
})

it('wants an address or a phone number of whoever signs in', async () => {
  const { error } = await supabase.auth.signInWithPassword({ password: 'kick-off' } as never)
  expect(error?.message).toBe('You must provide either an email or phone number and a password')
})

it('proves with PKCE who asked for a link, and keeps what that takes', async () => {
  const requests = respondWith({})
  await supabase.auth.signInWithOtp({ email: 'ada@club.example' })
  expect(requests[0]?.url).toMatch(/\/auth\/v1\/otp/)
  expect(await requests[0]?.json()).toMatchObject({
    email: 'ada@club.example',
    code_challenge_method: 's256',
  })
  expect(localStorage.getItem(`${AUTH_STORAGE_KEY}-code-verifier`)).not.toBeNull()
})
