export const copy = {
  title: 'Why Act Now',
  lead: 'The board is up. The habits that decide the next twenty seasons are formed in the time that is left.',
  reasons: [
    {
      title: 'A generation is choosing',
      text: 'Fans pick their club for life before they turn fourteen. This year’s twelve-year-olds are picking on a phone.',
    },
    {
      title: 'Reach gets dearer',
      text: 'Every season that your audience lives elsewhere, the rent for talking to it goes up.',
    },
    {
      title: 'First in the league sets the bar',
      text: 'The club that moves first shapes what its league, its sponsors and its rivals’ fans expect.',
    },
  ],
  board: '+4',
  action: 'Get in touch',
} as const
