/** The features that a project can use, and how a target is asked for each. */
import type { AuthSettings, Database } from './facts.ts'

/** What the target says of a feature by itself. */
export interface Finding {
  state: 'holds' | 'differs' | 'absent'
  /** Why; empty where it holds. */
  note: string
}

/** One feature. Where no case and no fact tells, a target is not known to have it. */
export interface Feature {
  title: string
  /** Prefixes of the names of the cases that try it; `<name>` is the name of the use. */
  cases?: readonly string[]
  /** What the settings of auth say; `name` is that of the use. Null where they say nothing. */
  auth?: (settings: AuthSettings, name: string) => Finding | null
  /** What the database says; `things` are those of the uses. */
  database?: (database: Database, name: string, things: readonly string[]) => Finding | null
}

const holds: Finding = { state: 'holds', note: '' }

export const features: Readonly<Record<string, Feature>> = {
  'rest.tables': {
    title: 'Tables in the API',
    cases: [
      ...['rest.select', 'rest.filter', 'rest.logic', 'rest.order', 'rest.page', 'rest.insert'],
      ...['rest.upsert', 'rest.write', 'rest.representation', 'rest.constraint', 'rest.type'],
      ...['rest.prefer', 'rest.error', 'rest.jwt'],
    ],
  },
  'rest.foreign-keys': {
    title: 'Relationships by foreign keys',
    cases: ['rest.embed', 'rest.embed-filter', 'rest.spread'],
  },
  'rest.views': {
    title: 'Views in the API',
    cases: ['rest.embed.view', 'rest.insert.view', 'rest.page.count.view', 'rest.options.view'],
  },
  'rest.functions': {
    title: 'Functions in the API',
    cases: ['rest.function', 'rest.function-refusal'],
  },
  'rest.computed-columns': {
    title: 'Functions as columns of a table',
    cases: ['rest.select.computed', 'rest.filter.computed', 'rest.order.computed'],
  },
  'rest.computed-relationships': {
    title: 'Functions as relationships of a table',
    cases: ['rest.embed.computed'],
  },
  'rest.policies': { title: 'Row-level security', cases: ['rest.security'] },
  'rest.schemas': { title: 'Other exposed schemas', cases: ['rest.profile'] },
  'rest.max-rows': { title: 'Limit of rows', cases: ['rest.page'] },
  'rest.text-search': { title: 'Full-text search', cases: ['rest.search'] },
  'rest.aggregates': { title: 'Aggregates', cases: ['rest.aggregate'] },
  'rest.domains': { title: 'Representations of domains', cases: ['rest.domain'] },
  'rest.media-types': { title: 'Other media types', cases: ['rest.media'] },
  'rest.request-settings': {
    title: 'Claims, headers and status of a request in SQL',
    cases: ['rest.request'],
  },
  'rest.pre-request': { title: 'Function before each request' },
  'rest.settings': { title: 'Settings of REST in the database' },
  graphql: {
    title: 'GraphQL',
    database: ({ extensions }) => available(extensions, 'pg_graphql'),
  },
  'auth.sign-up': {
    title: 'Sign-up',
    cases: ['auth.signup'],
    auth: ({ disable_signup }) => turnedOn(!disable_signup, 'sign-up'),
  },
  'auth.email': {
    title: 'Sign-in with address and password',
    cases: [
      ...['auth.password', 'auth.user', 'auth.refresh', 'auth.sign-out', 'auth.recovery'],
      ...['auth.email-change', 'auth.redirect', 'auth.claims'],
    ],
    auth: ({ external }) => provider(external, 'email'),
  },
  'auth.email-confirmation': {
    title: 'Confirmation of addresses',
    cases: ['auth.verify', 'auth.resend', 'auth.link'],
  },
  'auth.otp': {
    title: 'Sign-in with codes and links',
    cases: ['auth.otp', 'auth.magic-link', 'auth.verify'],
  },
  'auth.pkce': { title: 'PKCE', cases: ['auth.pkce'] },
  'auth.phone': {
    title: 'Sign-in with a phone',
    cases: ['auth.signup.phone', 'auth.password.sign-in.phone', 'auth.user.phone'],
    auth: ({ external }) => provider(external, 'phone'),
  },
  'auth.sms-provider': {
    title: 'Text messages',
    auth: ({ external }) => provider(external, 'phone'),
  },
  'auth.anonymous': {
    title: 'Anonymous sign-in',
    cases: ['auth.anonymous'],
    auth: ({ external }) => provider(external, 'anonymous_users'),
  },
  'auth.manual-linking': { title: 'Linking of identities', cases: ['auth.identities'] },
  'auth.reauthentication': { title: 'Reauthentication', cases: ['auth.reauthentication'] },
  'auth.provider': {
    title: 'Sign-in with a provider',
    cases: ['auth.authorize', 'auth.callback'],
    auth: ({ external }, name) => provider(external, name),
  },
  'auth.id-token': { title: 'Sign-in with ID tokens', cases: ['auth.id-token'] },
  'auth.web3': { title: 'Sign-in with wallets', cases: ['auth.web3-<name>'] },
  'auth.sso': {
    title: 'Single sign-on with SAML',
    cases: ['auth.sso', 'auth.admin-sso'],
    auth: ({ saml_enabled }) => turnedOn(saml_enabled, 'SAML'),
  },
  'auth.mfa.totp': { title: 'One-time passwords', cases: ['auth.mfa'] },
  'auth.mfa.phone': { title: 'Phones as second factor', cases: ['auth.mfa-phone'] },
  'auth.mfa.web-authn': { title: 'Security keys', cases: ['auth.mfa-webauthn'] },
  'auth.passkeys': {
    title: 'Passkeys',
    cases: ['auth.passkey'],
    auth: ({ passkeys_enabled }) => turnedOn(passkeys_enabled === true, 'passkeys'),
  },
  'auth.oauth-server': {
    title: 'OAuth server',
    cases: ['auth.oauth-server', 'auth.oauth-client'],
  },
  'auth.admin': {
    title: 'Administration of users',
    cases: [
      ...['auth.admin-create', 'auth.admin-delete', 'auth.admin-factor', 'auth.admin-get'],
      ...['auth.admin-link', 'auth.admin-list', 'auth.admin-update', 'auth.invitation'],
    ],
  },
  'auth.signing-keys': { title: 'Signing keys', cases: ['auth.well-known'] },
  'auth.session-limits': { title: 'Limits of sessions' },
  'auth.third-party': { title: 'Tokens of third parties' },
  'auth.hook': { title: 'Hooks of auth' },
  'auth.captcha': { title: 'Captcha' },
  'auth.smtp': { title: 'Mail server of your own' },
  'auth.mail-template': { title: 'Mails of your own' },
  'storage.buckets': {
    title: 'Buckets and objects',
    cases: [
      ...['storage.bucket', 'storage.object', 'storage.upload', 'storage.download', 'storage.list'],
      ...['storage.list-v2', 'storage.info', 'storage.move', 'storage.copy', 'storage.delete'],
      ...['storage.error', 'storage.schema'],
    ],
  },
  'storage.policies': { title: 'Policies of objects', cases: ['storage.policy'] },
  'storage.signed-urls': { title: 'Signed URLs', cases: ['storage.sign', 'storage.sign-upload'] },
  'storage.resumable': { title: 'Resumable uploads', cases: ['storage.tus'] },
  'storage.s3': {
    title: 'S3 protocol',
    cases: [
      ...['storage.s3-bucket', 'storage.s3-list', 'storage.s3-object', 'storage.s3-multipart'],
      'storage.s3-signature',
    ],
  },
  'storage.image-transformation': { title: 'Images in other sizes', cases: ['storage.image'] },
  'storage.vectors': { title: 'Vector buckets', cases: ['storage.vector'] },
  'storage.analytics': { title: 'Analytics buckets', cases: ['storage.analytics'] },
  'realtime.changes': {
    title: 'Changes of tables',
    cases: [
      ...['realtime.changes', 'realtime.filter', 'realtime.payload', 'realtime.socket'],
      'realtime.token',
    ],
    database: ({ publications }) =>
      publications.has('supabase_realtime')
        ? holds
        : { state: 'absent', note: 'there is no publication supabase_realtime' },
  },
  'realtime.channels': {
    title: 'Channels',
    cases: ['realtime.channel', 'realtime.socket', 'realtime.token'],
  },
  'realtime.broadcast': { title: 'Broadcast', cases: ['realtime.broadcast', 'realtime.http'] },
  'realtime.presence': { title: 'Presence', cases: ['realtime.presence'] },
  'realtime.database': { title: 'Broadcast from the database', cases: ['realtime.database'] },
  'realtime.private': { title: 'Private channels', cases: ['realtime.private'] },
  'functions.served': {
    title: 'Functions',
    cases: ['functions.invoke', 'functions.response', 'functions.auth', 'functions.runtime'],
  },
  'functions.without-token': { title: 'Functions without a token', cases: ['functions.open'] },
  'functions.background': { title: 'Work after the response' },
  'functions.websocket': { title: 'WebSockets of functions', cases: ['functions.socket'] },
  'functions.websocket-client': { title: 'WebSockets that functions open' },
  'functions.tcp': { title: 'Other connections of functions' },
  'functions.import-map': { title: 'Import maps' },
  'functions.static-files': { title: 'Static files of functions' },
  'functions.npm': { title: 'Packages of npm' },
  'functions.jsr': { title: 'Packages of JSR' },
  'functions.url-import': { title: 'Modules by URL' },
  'functions.ai': { title: 'Models in functions' },
  extension: {
    title: 'Extensions',
    database: ({ extensions }, name) => available(extensions, name),
  },
  'database.version': {
    title: 'Version of Postgres',
    database: ({ version }, name) =>
      String(version) === name
        ? holds
        : { state: 'differs', note: `the target has Postgres ${version}` },
  },
  'database.schema': {
    title: "The platform's own schemas",
    database: ({ schemas, objects }, name, things) =>
      schemas.has(name)
        ? missing(objects, things)
        : { state: 'absent', note: `there is no schema ${name}` },
  },
  'database.roles': {
    title: 'Roles',
    database: ({ roles }, _, things) => missing(roles, things),
  },
  'database.role-attributes': { title: 'Attributes of roles', database: bySuperuser },
  'database.superuser': { title: 'What needs a superuser', database: needsSuperuser },
  'database.event-triggers': { title: 'Event triggers', database: bySuperuser },
  'database.session-replication-role': { title: 'Triggers turned off', database: bySuperuser },
  'database.foreign-data': { title: 'Foreign data wrappers', database: bySuperuser },
  'database.replication': {
    title: 'Logical replication',
    database: ({ walLevel }) =>
      walLevel === 'logical' ? holds : { state: 'differs', note: `wal_level is ${walLevel}` },
  },
  'database.pooler': { title: 'Connection pooler' },
}

/** Returns the names that the cases of a feature are below. */
export function casePrefixes(feature: string, name: string): string[] {
  return (features[feature]?.cases ?? []).map((prefix) => prefix.replace('<name>', name))
}

function provider(external: AuthSettings['external'], name: string): Finding {
  const isOn = external[name]
  if (isOn === undefined) return { state: 'absent', note: `${name} is not among its providers` }
  return turnedOn(isOn, name)
}

function turnedOn(isOn: boolean, what: string): Finding {
  return isOn ? holds : { state: 'differs', note: `${what} is turned off` }
}

function available(extensions: ReadonlySet<string>, name: string): Finding {
  return extensions.has(name) ? holds : { state: 'absent', note: `${name} cannot be created` }
}

function missing(there: ReadonlySet<string>, things: readonly string[]): Finding {
  const lacking = things.filter((one) => !there.has(one))
  if (lacking.length === 0) return holds
  return { state: 'differs', note: `there is no ${lacking.join(', ')}` }
}

/** Returns the finding for what only a superuser may do anywhere. */
function needsSuperuser({ isSuperuser, user }: Database): Finding {
  return isSuperuser ? holds : { state: 'differs', note: `${user} is not a superuser` }
}

/** Returns the finding for what platforms may let others do, too: whether this one does cannot be seen. */
function bySuperuser({ isSuperuser }: Database): Finding | null {
  return isSuperuser ? holds : null
}
