/** Shown until the club's own headlines are read, and wherever there are none. */
export const FALLBACK_HEADLINES: readonly string[] = [
  'The content app that belongs to your brand alone.',
  'Turn fan engagement into guaranteed income.',
  'Hold the attention of every generation.',
  'Launch without financial risk.',
]

export const copy = {
  eyebrow: 'White-label fan engagement for sports clubs',
  intro:
    'Terrace is the swipeable video app that carries your badge, keeps your data and pays you a fixed sum every year. We finance it, build it and run it. You bring the fans.',
  discover: 'Discover',
  demoCaption: 'Demo: Harbour Row FC is a fictional club. The app is real.',
  videoLabel:
    'Silent demo of The Row, the fan app of Harbour Row FC: full-screen match clips with polls and a balance of Lanterns.',
  video: {
    prompt: 'Click to play video',
    loadFailed: 'Failed to load video - click to retry',
    playFailed: 'Unable to play video',
    playbackError: 'Video error - click to retry',
    play: 'Play Video',
    pause: 'Pause animation',
    resume: 'Resume animation',
    toastTitle: 'Video Error',
    toastDescription: 'Unable to play video content',
  },
} as const
