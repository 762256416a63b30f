export const copy = {
  title: 'Insights from the touchline.',
  lead: 'Notes for people who run clubs, leagues and the brands around them.',
  list: 'Articles',
  read: 'Read article',
  loading: 'Loading blog posts',
  empty: 'No blog posts available',
  retry: 'Try Again',
} as const
