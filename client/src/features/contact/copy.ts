export const copy = {
  title: 'Bring the whole stand to its feet.',
  lead: 'Tell us about your club, and we will show you its app: your crest, your colours, your clips. Half an hour, no slides.',
  email: 'Write to us',
  phone: 'Call us',
  network: 'Follow us',
  networkName: 'Terrace on LinkedIn',
  formLabel: 'Contact form',
  submit: 'Book a demo',
  submitting: 'Submitting...',
  privacy: 'We use what you send to answer you, and for nothing else.',
  missingTitle: 'Missing required fields',
  missing: 'Please fill in all required fields',
  tooLong: (field: string, max: number) =>
    `Input too long: ${field} must be under ${max} characters`,
  tooMany: (minutes: number) =>
    `Too many attempts. Please wait ${minutes} minutes before trying again.`,
} as const
