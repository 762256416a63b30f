export const copy = {
  title: 'Attention is slipping down the stand.',
  lead: 'Three things happen to a club that lives in other people’s feeds. Each one leads to the next.',
  problems: [
    {
      title: 'Limited fan access',
      text: 'An algorithm you do not control decides which of your followers see you. Most never do, and those who do cannot be reached again without paying for it.',
    },
    {
      title: 'Surface-level engagement',
      text: 'A like costs nothing and says nothing. Passive scrolling fills your reports with numbers, and leaves you none the wiser about who is in the crowd.',
    },
    {
      // A word joiner keeps the line from being broken after the hyphen.
      title: 'Weakened long-\u2060term connection',
      text: 'Without rituals of their own, younger fans follow players, then highlights, then nobody. The bond that fills a stadium for fifty years is never tied.',
    },
  ],
} as const
