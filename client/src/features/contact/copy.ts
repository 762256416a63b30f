export const copy = {
  title: 'Bring the whole stand to its feet.',
  lead: 'Tell us about your club, and we will show you its app: your crest, your colours, your clips. Half an hour, no slides.',
  email: 'Write to us',
  phone: 'Call us',
  network: 'Follow us',
  networkName: 'Terrace on LinkedIn',
} as const
