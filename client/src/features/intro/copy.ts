export const copy = {
  title: 'Your fans already watch on their phones. Just not with you.',
  body: [
    'Every goal, every training clip, every roar of your crowd ends up in somebody else’s feed, beside somebody else’s advertising, feeding somebody else’s data.',
    'Terrace gives that attention a home. One app, closed to other brands, that opens with your crest and closes with a fan who belongs a little more than before.',
  ],
  dealTitle: 'The deal, on one board',
  deal: [
    { board: '0', term: 'to launch', detail: 'We finance, build and operate the whole platform.' },
    {
      board: '1',
      term: 'fixed sum a year',
      detail: 'Guaranteed to the club, whatever the season brings.',
    },
    { board: '∞', term: 'revenue share', detail: 'Uncapped, on top of the guarantee.' },
    {
      board: '100%',
      term: 'of the fan data',
      detail: 'Collected with opt-in, owned by you, open through REST APIs.',
    },
  ],
} as const
