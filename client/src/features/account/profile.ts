import type { User } from '@supabase/supabase-js'

import { PASSWORD_MAX_AGE_MS, PROFILE_TIMEOUT_MS } from '@/lib/constants'
import { accountMessages } from '@/lib/notices/account-messages'
import { getSupabase } from '@/lib/supabase/get-supabase'

/** What the card shows of a user. */
interface Profile {
  email: string | null
  fullName: string | null
  /** Where the picture is in storage. */
  avatarPath: string | null
}

/** A user's profile and roles, with the problems of reading them. */
export interface LoadedProfile {
  profile: Profile | null
  roles: readonly string[]
  problems: readonly string[]
}

/** PostgREST's code for a read of one row that found none. */
const NOT_FOUND = 'PGRST116'

async function readProfile(userId: string) {
  const supabase = await getSupabase()
  const [profile, roles] = await Promise.all([
    supabase.from('profiles').select('email, full_name, avatar_url').eq('id', userId).single(),
    supabase.from('user_roles').select('role').eq('user_id', userId),
  ])
  const problems: string[] = []
  if (profile.error) {
    const isMissing = profile.error.code === NOT_FOUND
    problems.push(isMissing ? accountMessages.profile.notFound : accountMessages.profile.failed)
  }
  if (roles.error) problems.push(accountMessages.profile.rolesFailed)
  return {
    profile: profile.data && {
      email: profile.data.email,
      fullName: profile.data.full_name,
      avatarPath: profile.data.avatar_url,
    },
    roles: roles.data?.map(({ role }) => role) ?? [],
    problems,
  }
}

/** Reads the user's profile and roles. Never rejects and takes eight seconds at most; `problems` say what is missing. */
export async function loadProfile(userId: string): Promise<LoadedProfile> {
  const nothing = (problem: string) => ({ profile: null, roles: [], problems: [problem] })
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<LoadedProfile>((resolve) => {
    timer = setTimeout(() => resolve(nothing(accountMessages.profile.timedOut)), PROFILE_TIMEOUT_MS)
  })
  try {
    return await Promise.race([readProfile(userId), timeout])
  } catch (error) {
    console.error('The profile could not be read:', error)
    return nothing(accountMessages.profile.broken)
  } finally {
    clearTimeout(timer)
  }
}

/** The security level of the session, which the card's banner shows. */
export interface SecurityLevel {
  level: 'good' | 'warning' | 'error'
  text: string | null
}

/** Returns whether the password was last changed more than ninety days ago. */
export function isPasswordOld({ user_metadata }: User, now = Date.now()) {
  const changed: unknown = user_metadata.password_updated_at
  if (typeof changed !== 'string') return false
  const time = Date.parse(changed)
  return !Number.isNaN(time) && now - time > PASSWORD_MAX_AGE_MS
}

/** Returns the level of a session whose integrity has been checked. */
export function securityLevel(user: User, isIntact: boolean): SecurityLevel {
  if (!isIntact) return { level: 'error', text: accountMessages.profile.insecure }
  if (isPasswordOld(user)) return { level: 'warning', text: accountMessages.profile.oldPassword }
  return { level: 'good', text: null }
}
