import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'

import { backend } from '@/lib/supabase/backend'
import { usePageLoaded } from '@/lib/loading/use-page-loaded'

/** Shows edits of the content at once if the server announces them. Begins once the page has loaded its own content. */
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
