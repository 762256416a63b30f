/** The texts of messages about signing in and out, and about the profile. */
export const accountMessages = {
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
} as const
