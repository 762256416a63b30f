import Play from 'lucide-react/icons/play'
import { useCallback, useRef } from 'react'

import { Button } from '@/components/ui/button'
import { ImageWithFallback } from '@/components/ui/image-with-fallback'
import { messages } from '@/lib/notices/messages'
import { notify } from '@/lib/notices/notify'
import { storedFileUrl, storedPicture } from '@/lib/supabase/storage-url'
import { DEMO_FILE } from '@/lib/constants'
import { DEMO_WIDTHS } from '@/lib/pictures'
import { useIsOnScreen } from '@/lib/browser/use-is-on-screen'
import { usePageLoaded } from '@/lib/loading/use-page-loaded'

import { copy } from './copy'
import { useVideoPlayback, type VideoStatus } from './use-video-playback'

const { failed } = messages.video

const demo = {
  mp4: storedFileUrl(`${DEMO_FILE}.mp4`, 'app'),
  webm: storedFileUrl(`${DEMO_FILE}.webm`, 'app'),
  image: storedPicture(`${DEMO_FILE}.webp`, 'app', DEMO_WIDTHS),
}

const PROMPTS: Partial<Record<VideoStatus, string>> = {
  blocked: messages.video.prompt,
  'load-failed': messages.video.loadFailed,
  'play-failed': messages.video.playFailed,
  'playback-error': messages.video.playbackError,
}

interface DemoVideoProps {
  isPaused: boolean
  onResume: () => void
}

/** Shows the silent, looping demo of the app. Its poster is visible until it plays. */
export function DemoVideo({ isPaused, onResume }: DemoVideoProps) {
  const reportFailure = useCallback(() => notify.error(failed.title, failed.description), [])
  const isPageLoaded = usePageLoaded()
  const frameRef = useRef<HTMLDivElement>(null)
  const isOnScreen = useIsOnScreen(frameRef)
  const { videoRef, status, retry, handlers } = useVideoPlayback({
    source: demo.mp4,
    // The video is larger than the rest of the page together, so it is loaded last and plays only while it is visible.
    isPaused: isPaused || !isPageLoaded || !isOnScreen,
    onFailure: reportFailure,
  })
  const play = isPaused ? onResume : retry
  const hasBegun = () => {
    notify.withdraw(failed.title)
    handlers.onPlaying()
  }
  const prompt = isPaused ? messages.video.prompt : PROMPTS[status]

  return (
    <div ref={frameRef} className="relative size-full overflow-hidden bg-harbour-navy">
      <ImageWithFallback
        {...demo.image}
        alt=""
        width={608}
        height={1316}
        loading="eager"
        // It replaces the same picture in the first screen that the server has sent, without a gap.
        decoding="sync"
        fetchPriority="high"
        // Slightly larger than the video: browsers measure the paint of the largest picture (LCP), and the video's first
        // frame comes late.
        className="size-full scale-[1.01]"
      />
      <video
        ref={videoRef}
        aria-label={copy.videoLabel}
        muted
        loop
        playsInline
        preload="none"
        className="absolute inset-0 size-full object-cover"
        onLoadedData={handlers.onLoadedData}
        onPlaying={hasBegun}
        onError={handlers.onError}
      >
        <source src={demo.webm} type="video/webm" />
        {/* If all sources fail, browsers report it on the last one. */}
        <source src={demo.mp4} type="video/mp4" onError={handlers.onError} />
      </video>
      {prompt && (
        <div className="absolute inset-0 flex items-end p-2.5">
          <div className="flex w-full flex-col items-center gap-3.5 rounded-prompt bg-ink px-4 py-5 text-center text-chalk">
            <p role="status" className="text-small font-semibold">
              {prompt}
            </p>
            {/* The whole picture is the button, not only its text. */}
            <Button
              variant="floodlight"
              onClick={play}
              className="whitespace-nowrap after:absolute after:inset-0 max-md:px-4"
            >
              <Play aria-hidden className="size-5 fill-current" />
              {copy.play}
            </Button>
          </div>
        </div>
      )}
    </div>
  )
}
