export const copy = {
  back: 'Back to Articles',
  loading: 'Loading article',
  calloutTitle: 'Terrace Solution:',
  sources: 'Sources:',
  minutes: (count: number) => `${count} min read`,
  next: 'Read on',
  demoTitle: 'See it with your own crest.',
  demoText: 'Half an hour, no slides: your colours, your clips, your app.',
  demoAction: 'Book a demo',
} as const
