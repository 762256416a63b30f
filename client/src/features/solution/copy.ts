export const copy = {
  title: 'One app that takes them back up.',
  lead: 'Terrace turns the feed around: your content, your rules, your currency, your data. Four steps, delivered together.',
  benefits: [
    {
      // A word joiner keeps the line from being broken after the hyphen.
      title: 'A fully white-\u2060labelled experience',
      text: 'Your crest, your colours, your name in the app stores. Terrace stays out of sight.',
    },
    {
      title: 'A swipeable content app',
      text: 'Short vertical video that fans already know how to use, with polls and Q&As built into the swipe.',
    },
    {
      title: 'Club-branded points and card',
      text: 'Fans earn points in your currency and spend them with a co-branded payment card and a global rewards network.',
    },
    {
      title: 'Guaranteed revenue with no tech risk',
      text: 'A fixed sum every year plus an uncapped share. We carry the build, the bills and the night shifts.',
    },
  ],
  frameworkTitle: 'A team sheet for attention',
  frameworkLead:
    'Every feature has to play in one of four positions. If it does not, it stays on the bench.',
  framework: [
    {
      title: 'Desirability',
      text: 'Something worth opening on a Tuesday, when there is no match.',
    },
    {
      title: 'Accessibility',
      text: 'Open to every fan, from the front row to the other side of the world.',
    },
    { title: 'Value Perceived', text: 'Points, tiers and rewards that make loyalty tangible.' },
    {
      title: 'Engagement',
      text: 'Polls, Q&As and challenges that ask for an opinion, not just a view.',
    },
  ],
  engineTitle: 'Ninety minutes in. A thousand stories out.',
  engineLead:
    'The content engine watches every minute that you film, so that your media team can spend its time on the stories that only people can tell.',
  engine: [
    {
      title: 'AI highlights',
      text: 'Goals, saves, songs and gestures are found, cut upright and captioned while the match is still on.',
    },
    {
      title: 'Personalised delivery',
      text: 'Each fan’s feed learns from what they choose inside your app, and from nothing else.',
    },
  ],
  timelineLabel: 'Match clock',
  clipsLabel: 'Three fans, three feeds from the same match',
  clips: [
    { minute: '12′', fan: 'The commuter', clip: 'Every chance in 40 seconds' },
    { minute: '57′', fan: 'The academy parent', clip: 'A debut from the youth team' },
    { minute: '88′', fan: 'The away end', clip: 'The winner, from your stand' },
  ],
  action: 'Get in touch',
} as const
