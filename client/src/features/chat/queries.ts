import { useQuery } from '@tanstack/react-query'

import { content } from '@/lib/supabase/content'

import { copy } from './copy'

async function loadWelcome() {
  const { data, error } = await content.from('chat_widget_config').select('*').limit(1).single()
  if (!error) return data.welcome_message
  console.error('The chat configuration could not be read:', error.message)
  return copy.defaultWelcome
}

async function loadSuggestions() {
  const { data, error } = await content
    .from('chat_suggested_questions')
    .select('*')
    .order('order_index', { ascending: true })
  if (!error) return data
  console.error('The suggested questions could not be read:', error.message)
  return []
}

/** What the assistant says first; undefined while that is read. */
export function useWelcome() {
  return useQuery({ queryKey: ['chat-welcome'], queryFn: loadWelcome }).data
}

/** Questions to offer before the visitor has typed one. */
export function useSuggestions() {
  return useQuery({ queryKey: ['chat-suggestions'], queryFn: loadSuggestions }).data ?? []
}
