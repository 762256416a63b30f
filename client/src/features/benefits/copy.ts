/** One line of the comparison. */
interface Comparison {
  topic: string
  terrace: string
  platforms: string
}

const comparison: readonly Comparison[] = [
  {
    topic: 'Whose brand is on screen',
    terrace: 'Yours, and only yours',
    platforms: 'Everybody’s, side by side',
  },
  {
    topic: 'Who owns the fan data',
    terrace: 'The club, through REST APIs',
    platforms: 'The platform',
  },
  {
    topic: 'Where the income goes',
    terrace: 'Fixed guarantee and uncapped share',
    platforms: 'Mostly to the platform',
  },
  {
    topic: 'Who decides what fans see',
    terrace: 'The club and the fan',
    platforms: 'An advertising algorithm',
  },
  {
    topic: 'What a fan can earn',
    terrace: 'Points, rewards, a payment card',
    platforms: 'Nothing',
  },
  {
    topic: 'How safe the comments are',
    terrace: 'Verified identities, AI moderation',
    platforms: 'Anonymous accounts',
  },
  {
    topic: 'Who carries the cost',
    terrace: 'Terrace',
    platforms: 'Your media budget',
  },
]

export const copy = {
  title: 'What the club takes home.',
  lead: 'Terrace is built for the people who answer for a brand: on the pitch, in the boardroom and towards the sponsors.',
  benefits: [
    {
      title: 'A ground closed to other brands',
      text: 'No rival clips, no stray advertising, no context that you did not choose. Sponsors buy a clean stage.',
    },
    {
      title: 'First-party data with consent',
      text: 'Every fan opts in, and every signal belongs to you. Take it out at any time through open REST APIs.',
    },
    {
      title: 'Shared governance',
      text: 'A joint board decides on roadmap, moderation and partners. Nothing ships over the club’s head.',
    },
    {
      title: 'Every generation in one stand',
      text: 'Swipes for the young, archives for the faithful, rewards for families. One membership for all of them.',
    },
  ],
  comparisonTitle: 'Terrace against the short-video platforms',
  topicColumn: 'What matters',
  terraceColumn: 'Terrace',
  platformsColumn: 'Short-video platforms',
  comparison,
} as const
