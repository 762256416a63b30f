import { useQuery } from '@tanstack/react-query'

import { getSupabase } from '@/lib/supabase/get-supabase'

import { copy } from './copy'

async function loadWelcome() {
  try {
    const supabase = await getSupabase()
    const { data } = await supabase
      .from('chat_widget_config')
      .select('*')
      .limit(1)
      .single()
      .throwOnError()
    return data.welcome_message
  } catch (error) {
    console.error('The chat configuration could not be read:', error)
    return copy.defaultWelcome
  }
}

async function loadSuggestions() {
  try {
    const supabase = await getSupabase()
    const { data } = await supabase
      .from('chat_suggested_questions')
      .select('*')
      .order('order_index', { ascending: true })
      .throwOnError()
    return data
  } catch (error) {
    console.error('The suggested questions could not be read:', error)
    return []
  }
}

/** Returns the assistant's first message; undefined while it is loading. */
export function useWelcome() {
  return useQuery({
    queryKey: ['chat-welcome'],
    queryFn: loadWelcome,
    meta: { tables: ['chat_widget_config'] },
  }).data
}

/** Questions to offer before the visitor has typed one. */
export function useSuggestions() {
  const { data } = useQuery({
    queryKey: ['chat-suggestions'],
    queryFn: loadSuggestions,
    meta: { tables: ['chat_suggested_questions'] },
  })
  return data ?? []
}
