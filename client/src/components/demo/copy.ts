export const copy = {
  caption: 'Demo: Harbour Row FC is a fictional club. The app is real.',
  videoLabel:
    'Silent demo of The Row, the fan app of Harbour Row FC: full-screen match clips with polls and a balance of Lanterns.',
  play: 'Play Video',
  pause: 'Pause animation',
  resume: 'Resume animation',
} as const
