/** A server under test, and what the kit may use there. */
export interface Target {
  /** Without a slash at the end. */
  url: string
  anonKey: string
  /** Empty where there is none. */
  serviceKey: string
  /** A connection string of its database. */
  databaseUrl: string
  /** Where its mails can be read: a Mailpit, or a server with Mailpit's interface. */
  mailUrl: string
  /** What its HS256 tokens are signed with. */
  jwtSecret: string
  s3: { accessKeyId: string; secretAccessKey: string; region: string } | null
  /** What manages the server: where its Management API is, without a slash at the end. */
  platform: { url: string; accessToken: string; projectRef: string } | null
}

/** The interfaces, and the path that each is served under. */
export const interfaces = {
  rest: { title: 'REST', path: '/rest/v1' },
  auth: { title: 'Auth', path: '/auth/v1' },
  storage: { title: 'Storage', path: '/storage/v1' },
  realtime: { title: 'Realtime', path: '/realtime/v1' },
  functions: { title: 'Functions', path: '/functions/v1' },
  platform: { title: 'Platform', path: '/v1' },
} as const

export type Interface = keyof typeof interfaces

/** Statuses by which a server says that it does not have something. */
export const absentStatuses: readonly number[] = [404, 405, 501]
