import type { Session } from '@supabase/supabase-js'

function encode(part: object) {
  return btoa(JSON.stringify(part)).replaceAll('=', '').replaceAll('+', '-').replaceAll('/', '_')
}

/** Returns a session as the auth service answers it; its token is not signed. Lasts for `seconds`. */
export function testSession(seconds = 3600, id = 'session-1'): Session {
  const expiresAt = Math.floor(Date.now() / 1000) + seconds
  const claims = { sub: 'user-1', session_id: id, exp: expiresAt, role: 'authenticated' }
  return {
    access_token: `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.c2lnbmF0dXJl`,
    refresh_token: 'refresh-1',
    token_type: 'bearer',
    expires_in: seconds,
    expires_at: expiresAt,
    user: {
      id: 'user-1',
      email: 'ada@club.example',
      aud: 'authenticated',
      app_metadata: {},
      user_metadata: {},
      created_at: new Date().toISOString(),
    },
  }
}
