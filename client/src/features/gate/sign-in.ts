import { GATE } from '@/lib/constants'
import { backend } from '@/lib/supabase/backend'

interface TokenResponse {
  access_token: string
}

function post(path: string, token: string, body?: object) {
  return fetch(`${backend.url}/auth/v1/${path}`, {
    method: 'POST',
    headers: {
      apikey: backend.key,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    },
    body: body && JSON.stringify(body),
  })
}

/** Ends the shared account's session. If that fails, the visitor is admitted nevertheless. */
async function end({ access_token }: TokenResponse) {
  try {
    await post('logout?scope=local', access_token)
  } catch (error) {
    console.error('The session of the shared account could not be ended:', error)
  }
}

/**
 * Returns whether the password is the site's: it is if the shared account can sign in with it. That session is ended
 * at once; whoever knows the password stays a visitor. The site's client is not asked, because it would sign its
 * visitor in, and out of an account of their own.
 *
 * Throws if that cannot be found out.
 */
export async function isSitePassword(password: string) {
  const response = await post('token?grant_type=password', backend.key, {
    email: GATE.account,
    password,
  })
  if (response.ok) {
    await end((await response.json()) as TokenResponse)
    return true
  }
  if (response.status === 400) return false
  throw new Error(`The password could not be checked: status ${response.status}`)
}
