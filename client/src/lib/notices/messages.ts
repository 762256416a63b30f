import { loadingMessages } from './loading-messages'

/** The texts of all messages about failure and success. */
export const messages = {
  testimonials: {
    failed: {
      title: 'Error loading testimonials',
      description: 'There was a problem loading expert opinions.',
    },
  },
  posts: {
    failed: 'Failed to load blog posts. Please try again later.',
    failedToast: 'Failed to load blog posts',
    recentFailed: 'Failed to load recent posts.',
  },
  article: {
    failed: 'Failed to load blog content',
    broken: 'Something went wrong',
  },
  faqs: {
    failed: 'Failed to load FAQs. Please try again later.',
    failedToast: 'Failed to load FAQs',
  },
  timeline: {
    failed: {
      title: 'Error loading timeline',
      description: 'There was a problem loading our journey timeline.',
    },
  },
  jobs: {
    openingsFailed: 'Failed to load job openings',
    rolesFailed: 'Failed to load job roles',
  },
  contact: {
    failed: {
      title: 'Something went wrong',
      description: "We couldn't process your request. Please try again later.",
    },
    succeeded: {
      title: 'Message received!',
      description:
        'Our team will contact you shortly to discuss how the product can benefit your brand.',
    },
  },
  application: {
    failed: 'Failed to submit application. Please try again later.',
    succeeded: "Application submitted successfully! We'll be in touch soon.",
  },
  newsletter: {
    duplicate: 'This email is already subscribed to our newsletter.',
    unavailable: 'Newsletter service is temporarily unavailable. Please try again later.',
    failed: 'Failed to subscribe. Please try again later.',
    offline: 'Failed to subscribe. Please check your connection and try again.',
    succeeded: 'Successfully subscribed to newsletter!',
  },
  newsletterPopup: {
    duplicate: {
      title: 'Already subscribed',
      description: 'This email is already subscribed to our newsletter.',
    },
    failed: {
      title: 'Subscription failed',
      description: 'There was a problem with your subscription. Please try again later.',
    },
    succeeded: {
      title: 'Success!',
      description: 'Thank you for subscribing to our newsletter.',
    },
  },
  login: {
    invalidCredentials: 'Invalid email or password. Please check your credentials and try again.',
    unconfirmed: 'Please check your email and click the confirmation link before logging in.',
    failed: 'An error occurred during login. Please try again.',
    succeeded: 'Successfully logged in!',
  },
  gate: {
    denied: { title: 'Access Denied', description: 'The password you entered is incorrect.' },
    failed: { title: 'Error', description: 'An unexpected error occurred. Please try again.' },
  },
  profile: {
    notFound: 'Profile not found',
    failed: 'Error loading profile',
    rolesFailed: 'Error loading user roles',
    broken: 'Error loading user data',
    timedOut: 'Error loading profile data',
    insecure: 'Security validation failed. Please sign out and back in.',
    oldPassword: 'Your password is over 90 days old. Consider updating it.',
  },
  logout: {
    succeeded: 'Logged out successfully',
    failed: 'Error logging out',
  },
  session: {
    ended: 'Session expired for security reasons',
    expiresIn: (minutes: number) => `Session will expire in ${minutes} minutes`,
    unreadable: 'Authentication error',
    uninitialized: 'Failed to initialize authentication',
  },
  video: {
    prompt: 'Click to play video',
    loadFailed: 'Failed to load video - click to retry',
    playFailed: 'Unable to play video',
    playbackError: 'Video error - click to retry',
    failed: { title: 'Video Error', description: 'Unable to play video content' },
  },
  chat: {
    unreachable:
      "I'm sorry, I'm having trouble connecting right now. Please try again later or contact our support team if the issue persists.",
    unreachableToast: 'Could not get a response. Please try again.',
    failed: "I'm sorry, I'm having trouble connecting right now. Please try again later.",
    invalidInput: 'Invalid input. Please try again with a different message.',
    retry: {
      openai_quota_exceeded: 'The AI service is temporarily unavailable. Please try again later.',
      configuration_error: "There's a configuration issue with the chat service.",
      other: 'Connection issue. Try again?',
    },
  },
  loading: loadingMessages,
  images: {
    preloadFailed: 'Failed to load one or more images',
  },
} as const
