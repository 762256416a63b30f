/** The texts of messages about the chat. */
export const chatMessages = {
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
} as const
