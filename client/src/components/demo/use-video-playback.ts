import { useCallback, useEffect, useRef, useState } from 'react'

import { VIDEO_ELEMENT_RETRY } from '@/lib/constants'

/**
 * `blocked`: the browser does not allow autoplay. `load-failed`: the file could not be loaded. `play-failed`: the browser
 * refused to start it. `playback-error`: it stopped with an error.
 */
export type VideoStatus =
  'not-loaded' | 'loaded' | 'playing' | 'blocked' | 'load-failed' | 'play-failed' | 'playback-error'

interface Playback {
  source: string
  status: VideoStatus
}

interface Options {
  /** The file's address. A change starts again. */
  source: string
  isPaused: boolean
  onFailure: () => void
}

/** Waits for a video element that is mounted after its source is known. Null if it is never mounted. */
async function findElement(find: () => HTMLVideoElement | null, signal: AbortSignal) {
  for (let attempt = 0; attempt < VIDEO_ELEMENT_RETRY.attempts && !signal.aborted; attempt++) {
    const element = find()
    if (element) return element
    await new Promise((resolve) => setTimeout(resolve, VIDEO_ELEMENT_RETRY.intervalMs))
  }
  return null
}

/** Reports whether none of the element's sources could be read or decoded. */
function isBroken(video: HTMLVideoElement) {
  return Boolean(video.error) || video.networkState === HTMLMediaElement.NETWORK_NO_SOURCE
}

/** Plays the video of `videoRef` unless it is paused, and returns the state of playback. */
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
        // An interrupted start is not an error, and a file that cannot be loaded has an event of its own.
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
