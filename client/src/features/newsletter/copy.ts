export const copy = {
  title: 'Insights, once a month',
  lead: 'What we learn about supporters, data and income. No spam, no resale.',
  email: 'Email address',
  placeholder: 'you@club.example',
  /** Around the link to the policy. */
  consent: 'I consent to receive the newsletter as per the',
  consentPolicy: 'Privacy Policy',
  consentEnd: 'Unsubscribe anytime.',
  subscribe: 'Subscribe',
  subscribing: 'Subscribing...',
  subscribed: 'Subscribed ✓',
  tooMany: 'Too many attempts. Please wait a few minutes before trying again.',
} as const

/** The messages of the two forms about invalid input. */
export interface FormTexts {
  emailRequired: string
  consentRequired: string
  tooLong: { title: string; description?: string }
}

const TOO_LONG = 'Email address must be under 254 characters.'

export const inputErrors = {
  format: 'Please enter a valid email address',
  characters: 'Invalid email format',
  typedCharacters: 'Invalid characters in email address.',
  footer: {
    emailRequired: 'Please enter your email address',
    consentRequired: 'Please confirm your consent to receive our newsletter',
    tooLong: { title: TOO_LONG },
  } satisfies FormTexts,
  popup: {
    emailRequired: 'Email is required',
    consentRequired: 'Consent is required',
    tooLong: { title: 'Email too long', description: TOO_LONG },
  } satisfies FormTexts,
} as const
