export const copy = {
  back: 'Back to Articles',
  loading: 'Loading article',
  calloutTitle: 'Terrace Solution:',
  sources: 'Sources:',
} as const
