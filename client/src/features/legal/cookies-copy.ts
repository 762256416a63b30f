export const cookies = {
  title: 'Cookie Policy',
  note: 'What this site stores in your browser, and what it waits with until you agree.',
  sections: [
    {
      title: 'What cookies are',
      paragraphs: [
        'Cookies and entries in local storage are small texts that a website keeps in your browser. Some make a site work; others tell its owner how it is used.',
      ],
    },
    {
      title: 'How we use them',
      paragraphs: [
        'Before you choose, we keep only what the site cannot do without. Cookies for analysis and marketing are set after you press Accept, and not at all if you press Decline.',
      ],
    },
  ],
  tableTitle: 'The cookies in detail',
  columns: ['Name', 'Kind', 'What it is for', 'Duration'],
  rows: [
    {
      name: 'cookieConsent',
      kind: 'Necessary',
      purpose: 'Remembers whether you accepted or declined cookies.',
      duration: '1 year',
    },
    {
      name: 'terrace_visitor',
      kind: 'Analytics',
      purpose: 'Tells returning visitors from new ones, without a name.',
      duration: '2 years',
    },
    {
      name: 'terrace_visit',
      kind: 'Analytics',
      purpose: 'Joins the pages of one visit.',
      duration: '24 hours',
    },
    {
      name: 'terrace_campaign',
      kind: 'Marketing',
      purpose: 'Remembers which campaign led you here.',
      duration: '6 months',
    },
  ],
  changeTitle: 'Change your choice',
  change:
    'You can change your preferences at any time via the Cookie Settings link in the footer of every page. You can also delete cookies in your browser.',
} as const
