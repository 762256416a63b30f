import { useQuery } from '@tanstack/react-query'

import { content } from '@/lib/supabase/content'

/** Whether the site asks for its password; `unknown` where that cannot be read. */
export type PasswordProtection = 'checking' | 'on' | 'off' | 'unknown'

async function loadProtection(): Promise<PasswordProtection> {
  const { data, error } = await content
    .from('settings')
    .select('value')
    .eq('key', 'password_protection')
    .eq('category', 'app')
    .single()
  if (error) return 'unknown'
  return data.value.replaceAll(/["']/g, '').trim() === '1' ? 'on' : 'off'
}

/** Whether the site is behind its password, as the setting password_protection has it. */
export function usePasswordProtection(): PasswordProtection {
  const { data } = useQuery({ queryKey: ['password-protection'], queryFn: loadProtection })
  return data ?? 'checking'
}
