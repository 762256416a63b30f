export const copy = {
  title: 'Insights from the touchline.',
  lead: 'Notes for people who run clubs, leagues and the brands around them.',
  read: 'Read article',
  loading: 'Loading blog posts',
  empty: 'No blog posts available',
  error: 'Failed to load blog posts. Please try again later.',
  errorToast: 'Failed to load blog posts',
  retry: 'Try Again',
} as const
