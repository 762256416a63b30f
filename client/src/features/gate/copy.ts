export const copy = {
  checking: 'Checking authentication...',
  redirecting: 'Redirecting to site...',
  title: 'Password Protected',
  lead: 'This site is not open to everybody yet. Please enter the password that you were given.',
  password: 'Password',
  show: 'Show password',
  hide: 'Hide password',
  submit: 'Access Site',
} as const
