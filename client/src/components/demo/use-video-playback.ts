import { useCallback, useEffect, useRef, useState } from 'react'

import { VIDEO_ELEMENT_RETRY } from '@/lib/constants'

/**
 * `blocked`: the browser plays nothing by itself. `load-failed`: the file did not come.
 * `play-failed`: the browser would not start it. `playback-error`: it broke off.
 */
export type VideoStatus =
  'not-loaded' | 'loaded' | 'playing' | 'blocked' | 'load-failed' | 'play-failed' | 'playback-error'

interface Playback {
  source: string
  status: VideoStatus
}

interface Options {
  /** The file's address; another one starts over. */
  source: string
  isPaused: boolean
  onFailure: () => void
}

/** Waits for a video element that is mounted later than its source is known. Null if it never comes. */
async function findElement(find: () => HTMLVideoElement | null, signal: AbortSignal) {
  for (let attempt = 0; attempt < VIDEO_ELEMENT_RETRY.attempts && !signal.aborted; attempt++) {
    const element = find()
    if (element) return element
    await new Promise((resolve) => setTimeout(resolve, VIDEO_ELEMENT_RETRY.intervalMs))
  }
  return null
}

/** Whether none of the element's sources could be read or decoded. */
function isBroken(video: HTMLVideoElement) {
  return Boolean(video.error) || video.networkState === HTMLMediaElement.NETWORK_NO_SOURCE
}

/** Plays the video behind `videoRef` as long as it is not paused, and says how that goes. */
export function useVideoPlayback({ source, isPaused, onFailure }: Options) {
  const videoRef = useRef<HTMLVideoElement>(null)
  const [playback, setPlayback] = useState<Playback>({ source, status: 'not-loaded' })
  const status = playback.source === source ? playback.status : 'not-loaded'
  const setStatus = useCallback(
    (next: VideoStatus) => setPlayback({ source, status: next }),
    [source],
  )

  const fail = useCallback(
    (next: VideoStatus) => {
      setStatus(next)
      onFailure()
    },
    [setStatus, onFailure],
  )

  const start = useCallback(
    async (video: HTMLVideoElement) => {
      try {
        await video.play()
      } catch (error) {
        const name = error instanceof DOMException ? error.name : ''
        if (name === 'NotAllowedError') setStatus('blocked')
        // An interrupted start is no failure, and a file that cannot be had says so with its own event.
        else if (name !== 'AbortError' && !isBroken(video)) fail('play-failed')
      }
    },
    [setStatus, fail],
  )

  useEffect(() => {
    if (isPaused) {
      videoRef.current?.pause()
      return
    }
    const search = new AbortController()
    void findElement(() => videoRef.current, search.signal).then((video) => {
      if (search.signal.aborted) return
      if (video) void start(video)
      else fail('load-failed')
    })
    return () => search.abort()
  }, [source, isPaused, start, fail])

  const retry = useCallback(() => {
    const video = videoRef.current
    if (!video) return
    if (isBroken(video)) video.load()
    void start(video)
  }, [start])

  return {
    videoRef,
    status,
    retry,
    handlers: {
      onLoadedData: () => setStatus('loaded'),
      onPlaying: () => setStatus('playing'),
      onError: () => fail(status === 'not-loaded' ? 'load-failed' : 'playback-error'),
    },
  }
}
