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
} as const
