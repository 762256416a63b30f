/** The texts of the popup beside those that it shares with the footer's form. */
export const popupCopy = {
  title: 'Stay Ahead of the Game with Terrace',
  lead: 'One letter a month for people who answer for a club.',
  benefits: [
    {
      title: 'Industry Leading Insights',
      text: 'What works with supporters, told by those who tried it.',
    },
    {
      title: 'Benchmarking Reports',
      text: 'How your attention, data and income compare.',
    },
  ],
  decline: 'No, thanks',
  close: 'Close',
} as const
