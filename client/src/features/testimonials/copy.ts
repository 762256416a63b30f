export const copy = {
  title: 'Heard from people who know the game.',
  lead: 'Advisers from clubs, media, research and law on what changes when a club has an app of its own.',
  list: 'Experts',
  empty: 'No expert testimonials available at the moment.',
  loading: 'Loading testimonials',
} as const
