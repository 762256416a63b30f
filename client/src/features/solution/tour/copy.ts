import type { Emblem } from '@/components/vignette/crest'

/** A fictional club of the tour. */
interface DemoClub {
  emblem: Emblem
  crest: string
  name: string
  app: string
  short: string
  points: string
}

const clubs: readonly [DemoClub, ...DemoClub[]] = [
  {
    emblem: 'lantern',
    crest: 'Lantern',
    name: 'Harbour Row FC',
    app: 'The Row',
    short: 'HRW',
    points: 'Lanterns',
  },
  {
    emblem: 'picks',
    crest: 'Picks',
    name: 'Pithead Town',
    app: 'The Pit',
    short: 'PIT',
    points: 'Lamps',
  },
  {
    emblem: 'wheel',
    crest: 'Wheel',
    name: 'Junction City',
    app: 'The Yard',
    short: 'JCT',
    points: 'Tokens',
  },
]

export const copy = {
  title: 'Try it in your colours.',
  lead: 'Type a name, pick a crest and colours, cast a vote: everything that a fan sees is the club’s own.',
  row: 'Parts of the app',
  clubs,
  colours: [
    { id: 'harbour', label: 'Navy and coral' },
    { id: 'claret', label: 'Claret and sky' },
    { id: 'amber', label: 'Coal and amber' },
    { id: 'violet', label: 'Violet and mint' },
  ],
  label: {
    title: 'White label',
    text: 'Your crest, your colours, your name. Terrace does not appear in the app.',
    name: 'Club name',
    crest: 'Crest',
    colours: 'Colours',
  },
  app: {
    time: '19:45',
    opponent: 'MRH',
    score: '2–1',
    training: 'Tuesday training',
    clip: 'The winner, from your stand',
    minute: '88′',
  },
  poll: {
    title: 'Polls',
    text: 'Asked at the final whistle, inside the swipe.',
    question: 'Player of the match?',
    players: [
      { name: 'Adeyemi', votes: 4218 },
      { name: 'Lindholm', votes: 3102 },
      { name: 'Castellan', votes: 1690 },
    ],
    votes: (count: string) => `${count} votes`,
    thanks: (points: string) => `Thank you: ${points}`,
    reward: 20,
  },
  question: {
    title: 'Q&As',
    text: 'A question to the goalkeeper, and an answer from her.',
    fan: 'Mia, family stand',
    asked: 'Were you scared of the penalty?',
    votes: '318 want to know',
    player: 'Ingrid, goalkeeper',
    answer: 'Always. That is why I practise.',
  },
  card: {
    title: 'Points card',
    text: 'A co-branded debit card: everyday purchases earn points.',
    kind: 'Debit',
    holder: 'Sam Okoro',
    purchase: 'Coffee at the station',
    earned: 4,
  },
  rewards: {
    title: 'Rewards',
    text: 'Public exchange rates. Points do not expire.',
    ready: 'Ready',
    list: [
      { name: 'Bread from the corner bakery', price: 150 },
      { name: 'A place in the tunnel', price: 1200 },
      { name: 'Ten minutes with the analyst', price: 2000 },
    ],
  },
  balance: 1240,
  note: 'Fictional clubs, people and figures.',
} as const
