/** Finds the features that `config.toml` turns on. */
import { isTable, parseToml, type Setting, type Value } from './toml.ts'
import type { Source, Use } from './use.ts'

interface Rule {
  /** A path; `*` is the name of what is used, `+` is any. */
  path: string
  feature: string
  /** Whether this value is a use; by default where it turns something on. */
  when?: (value: Value) => boolean
  /** The name of what is used, where the path has none. */
  name?: string | ((value: Value) => string)
}

/** Schemas that every project exposes by default. */
const usualSchemas = ['public', 'graphql_public', 'storage']

const rules: readonly Rule[] = [
  {
    path: 'api.schemas',
    feature: 'rest.schemas',
    when: (value) => unusualSchemas(value).length > 0,
  },
  { path: 'api.max_rows', feature: 'rest.max-rows', when: isSet },
  { path: 'db.major_version', feature: 'database.version', when: isSet, name: String },
  { path: 'db.vault.+', feature: 'extension', when: isSet, name: 'supabase_vault' },
  { path: 'db.pooler.enabled', feature: 'database.pooler' },
  { path: 'auth.email.enable_signup', feature: 'auth.email' },
  { path: 'auth.email.enabled', feature: 'auth.email' },
  { path: 'auth.email.enable_confirmations', feature: 'auth.email-confirmation' },
  { path: 'auth.email.secure_password_change', feature: 'auth.reauthentication' },
  { path: 'auth.email.smtp.host', feature: 'auth.smtp', when: isSet },
  { path: 'auth.email.template.*', feature: 'auth.mail-template', when: isTable },
  { path: 'auth.email.notification.*.enabled', feature: 'auth.mail-template' },
  { path: 'auth.sms.enable_signup', feature: 'auth.phone' },
  { path: 'auth.sms.enabled', feature: 'auth.phone' },
  { path: 'auth.sms.*.enabled', feature: 'auth.sms-provider' },
  { path: 'auth.enable_signup', feature: 'auth.sign-up' },
  { path: 'auth.enable_anonymous_sign_ins', feature: 'auth.anonymous' },
  { path: 'auth.enable_manual_linking', feature: 'auth.manual-linking' },
  { path: 'auth.external.*.enabled', feature: 'auth.provider' },
  { path: 'auth.web3.*.enabled', feature: 'auth.web3' },
  { path: 'auth.third_party.*.enabled', feature: 'auth.third-party' },
  { path: 'auth.hook.*.enabled', feature: 'auth.hook' },
  { path: 'auth.captcha.enabled', feature: 'auth.captcha' },
  { path: 'auth.sessions.+', feature: 'auth.session-limits', when: isSet },
  { path: 'auth.mfa.totp.+', feature: 'auth.mfa.totp' },
  { path: 'auth.mfa.phone.enroll_enabled', feature: 'auth.mfa.phone' },
  { path: 'auth.mfa.phone.verify_enabled', feature: 'auth.mfa.phone' },
  { path: 'auth.mfa.web_authn.+', feature: 'auth.mfa.web-authn' },
  { path: 'auth.passkey.enabled', feature: 'auth.passkeys' },
  { path: 'auth.saml.enabled', feature: 'auth.sso' },
  { path: 'auth.oauth_server.enabled', feature: 'auth.oauth-server' },
  { path: 'auth.signing_keys_path', feature: 'auth.signing-keys', when: isSet },
  { path: 'storage.buckets.*', feature: 'storage.buckets', when: isTable },
  { path: 'storage.s3_protocol.enabled', feature: 'storage.s3' },
  { path: 'storage.image_transformation.enabled', feature: 'storage.image-transformation' },
  { path: 'storage.vector.enabled', feature: 'storage.vectors' },
  { path: 'storage.vector.buckets.*', feature: 'storage.vectors', when: isTable },
  { path: 'storage.analytics.enabled', feature: 'storage.analytics' },
  { path: 'storage.analytics.buckets.*', feature: 'storage.analytics', when: isTable },
  {
    path: 'functions.*.verify_jwt',
    feature: 'functions.without-token',
    when: (value) => value === false,
  },
  { path: 'functions.*.import_map', feature: 'functions.import-map', when: isSet },
  { path: 'functions.*.static_files', feature: 'functions.static-files', when: isSet },
]

/** Features whose name is that of the thing: one line of the report for all buckets, one for each provider. */
const kinds = new Set([
  'auth.provider',
  'auth.hook',
  'auth.web3',
  'auth.third-party',
  'auth.sms-provider',
])

/** What else is read of the settings: where the project's files are. */
export interface Config {
  /** The settings by their path, joined with dots. */
  values: ReadonlyMap<string, Value>
  uses: readonly Use[]
}

/** Reads `config.toml`. Throws a TomlError. */
export function scanConfig({ file, text }: Source): Config {
  const settings = parseToml(text).flatMap(flattened)
  const values = new Map(settings.map(({ path, value }) => [path.join('.'), value]))
  const uses = settings.flatMap((setting) => {
    const { path, value, line } = setting
    if (isOff(path, values)) return []
    const rule = rules.find((one) => (one.when ?? isOn)(value) && matches(one.path, path) !== null)
    if (!rule) return []
    const { feature } = rule
    const thing = matches(rule.path, path) ?? ''
    const own = typeof rule.name === 'function' ? rule.name(value) : (rule.name ?? '')
    const name = own || (kinds.has(feature) ? thing : '')
    const things =
      feature === 'rest.schemas' ? unusualSchemas(value) : [name === thing ? '' : thing]
    return things.map((one) => ({ feature, name, thing: one, file, line }))
  })
  return { values, uses }
}

/** Returns whether a part of the path is turned off as a whole, such as `auth` or `auth.email.smtp`. */
function isOff(path: readonly string[], values: ReadonlyMap<string, Value>): boolean {
  return path.some((_, index) => {
    const above = path.slice(0, index).join('.')
    const service = above === 'functions' ? 'edge_runtime' : above
    return index > 0 && values.get(`${service}.enabled`) === false
  })
}

/** Returns the name that `*` stands for, or an empty text; null where the path is another. */
function matches(pattern: string, path: readonly string[]): string | null {
  const steps = pattern.split('.')
  if (steps.length !== path.length) return null
  let name = ''
  for (const [index, step] of steps.entries()) {
    const got = path[index] ?? ''
    if (step === '*') name = got
    else if (step !== '+' && step !== got) return null
  }
  return name
}

function flattened(setting: Setting): Setting[] {
  const { path, value, line } = setting
  if (!isTable(value)) return [setting]
  const members = Object.entries(value).flatMap(([name, one]) =>
    flattened({ path: [...path, name], value: one, line }),
  )
  return [{ path, value: {}, line }, ...members]
}

/** Returns whether a value may turn it on; one from the environment may. */
function isOn(value: Value): boolean {
  return value === true || (typeof value === 'string' && value.startsWith('env('))
}

function isSet(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0
  return typeof value !== 'object' && value !== '' && value !== false
}

function unusualSchemas(value: Value): string[] {
  const names = Array.isArray(value) ? value.map(String) : []
  return names.filter((name) => !usualSchemas.includes(name))
}
