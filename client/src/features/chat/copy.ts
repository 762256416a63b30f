export const copy = {
  open: 'Open chat',
  close: 'Close chat',
  unread: '1 unread message',
  title: 'Chat with the Terrace assistant',
  messages: 'Messages',
  defaultWelcome: 'Hi there! How can I help you today?',
  placeholder: 'Type your message...',
  send: 'Send message',
  typing: 'The assistant is typing',
  suggestions: 'Suggested questions',
  you: 'You',
  assistant: 'Assistant',
} as const

/** Returns the greeting at an hour of the day. */
export function greeting(hour: number) {
  if (hour < 12) return 'Good morning!'
  return hour < 18 ? 'Good afternoon!' : 'Good evening!'
}
