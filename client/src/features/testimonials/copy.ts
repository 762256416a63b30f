export const copy = {
  title: 'Heard from the people who fill the seats.',
  lead: 'Club executives, sponsors and media directors on what changes when the app is their own.',
  empty: 'No expert testimonials available at the moment.',
  loading: 'Loading testimonials',
  errorTitle: 'Error loading testimonials',
  errorDescription: 'There was a problem loading expert opinions.',
} as const
