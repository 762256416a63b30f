export const copy = {
  title: 'Apply for a Position',
  lead: 'A few lines are enough. We read every application ourselves and answer within a week.',
  name: 'Full Name',
  email: 'Email Address',
  role: "Position You're Applying For",
  rolePlaceholder: 'Select a position',
  message: 'Your Message',
  submit: 'Submit Application',
  submitting: 'Submitting...',
  note: 'This form is protected against automated submissions. By submitting you agree to our',
  policy: 'privacy policy',
  visitor: 'Want to track your applications?',
  login: 'Login here',
  tooMany: (minutes: number) =>
    `Too many attempts. Please wait ${minutes} minutes before trying again.`,
  refusedCharacters: 'Name contains invalid characters',
} as const
