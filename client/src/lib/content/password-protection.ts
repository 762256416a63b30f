import { useQuery } from '@tanstack/react-query'

import { getSupabase } from '@/lib/supabase/get-supabase'

/** Whether the site is protected by a password; `unknown` if that cannot be read. */
type PasswordProtection = 'checking' | 'on' | 'off' | 'unknown'

async function loadProtection(): Promise<PasswordProtection> {
  try {
    const supabase = await getSupabase()
    const { data } = await supabase
      .from('settings')
      .select('value')
      .eq('key', 'password_protection')
      .eq('category', 'app')
      .single()
      .throwOnError()
    return data.value.replaceAll(/["']/g, '').trim() === '1' ? 'on' : 'off'
  } catch {
    return 'unknown'
  }
}

/** Returns whether the site is behind its password, as the setting password_protection has it. */
export function usePasswordProtection(): PasswordProtection {
  const { data } = useQuery({
    queryKey: ['password-protection'],
    queryFn: loadProtection,
    meta: { tables: ['settings'] },
  })
  return data ?? 'checking'
}
