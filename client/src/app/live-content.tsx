import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'

import { backend } from '@/lib/supabase/backend'
import { usePageLoaded } from '@/lib/loading/use-page-loaded'

/** Lets edits show at once where the server tells of them. Waits until the page has what it needs itself. */
export function LiveContent() {
  const queries = useQueryClient()
  const isTime = usePageLoaded() && backend.hasChannels

  useEffect(() => {
    if (!isTime) return
    let stop: (() => void) | undefined
    let isGone = false
    const follow = async () => {
      const { followContent } = await import('@/lib/content/live-content')
      if (!isGone) stop = followContent(queries)
    }
    follow().catch((error: unknown) => console.error('Content is not followed:', error))
    return () => {
      isGone = true
      stop?.()
    }
  }, [isTime, queries])

  return null
}
