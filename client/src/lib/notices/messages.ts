import { loadingMessages } from './loading-messages'

/** The texts of messages about failure and success, apart from those in the files beside this one. */
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
  loading: loadingMessages,
  images: {
    preloadFailed: 'Failed to load one or more images',
  },
} as const
