export const copy = {
  title: 'Join the Terrace Founding Team',
  tagline: 'AI-first. Remote-only. Zero tolerance for BS.',
  demoNote: 'The app in our demo belongs to Harbour Row FC, a fictional brand.',
  /** The substitution board beside the title: one more. */
  board: '+1',
  seeRoles: 'See open roles',
  whoTitle: 'Who We Are',
  who: 'We are people from clubs, live video, payments and safety who got tired of watching supporters being rented back to the clubs they belong to. So we build the place where they can meet: one app per club, closed to every other brand, financed and run by us. Nobody here manages a slide deck for a living. Everybody ships.',
  intro: [
    {
      title: 'What you will work on',
      text: 'A video feed that opens in under a second, a points economy with public exchange rates, a payment card, and models that find the eleven seconds worth keeping from a whole season of footage.',
    },
    {
      // A word joiner keeps the line from being broken after the hyphen.
      title: 'How AI-\u2060first feels',
      text: 'Every desk has agents on it. They draft, test, caption and triage; you decide. We measure ourselves by what a small team gets done with them, and we never let them speak in a supporter’s name.',
    },
    {
      title: 'What you get',
      text: 'Founding equity, a salary that does not depend on your postcode, hardware of your choice, thirty days of leave that people take, and two weeks a year together in one place.',
    },
  ],
  rolesTitle: 'Open Roles',
  rolesLead: 'All of them are full-time and remote.',
  rolesLoading: 'Loading open roles',
  rolesEmpty: 'No open positions at the moment. Check back later!',
  getInTouch: 'Get in touch',
  getInTouchAbout: (role: string) => `Get in touch about ${role}`,
  mailbox: 'careers@terrace.example',
  mailSubject: (role: string) => `Interest in ${role} position`,
  howTitle: 'How We Work',
  how: [
    {
      title: 'Remote-first',
      text: 'Seven time zones, no head office. We write things down, and a meeting has to earn its place.',
    },
    {
      title: 'Truth > Politics',
      text: 'Bad news travels fastest here. Whoever finds the flaw is thanked, not whoever hides it.',
    },
    {
      title: 'Fast Decisions',
      text: 'One person decides, says why in a paragraph, and may change their mind when the facts do.',
    },
    {
      title: 'Ship What Matters',
      text: 'Would a supporter miss it if it went? If not, we do not build it.',
    },
  ],
} as const
