/** The texts about parts of the site that cannot be loaded; in a file of their own, since the first scripts have them. */
export const loadingMessages = {
  offline: {
    title: 'No connection',
    description: 'Please try again once you are online. What you have typed stays here.',
  },
  gone: {
    title: 'This part of the page could not be loaded',
    description: 'Please try again in a minute. What you have typed stays here.',
  },
} as const
