/** The texts of messages about forms that were sent to the team. */
export const submissionMessages = {
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
} as const
