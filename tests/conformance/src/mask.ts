import type { Target } from './target.ts'

const masked = '•••'

/** Names of fields, parameters and headers whose values are secrets. */
const secretNames = [
  '(?:[a-z_-]*_)?password',
  'encrypted_password',
  '(?:access|refresh|provider|provider_refresh|session|confirmation|recovery)_token',
  '(?:hashed|id|email|phone)_(?:token|otp)',
  'token(?:_hash)?',
  'api_?key',
  'x-api-key',
  '(?:client_|totp_)?secret',
  'otp',
  'code_(?:verifier|challenge)',
  'auth_code',
  'x-(?:amz|upsert)-signature',
  'x-signature',
].join('|')

const patterns: readonly [RegExp, string][] = [
  // Tokens, wherever they are.
  [/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, masked],
  [/\bsb_(secret|publishable)_[\w-]+/g, `sb_$1_${masked}`],
  [/\bsbp_(?:oauth_|v0_)?[0-9a-f]+/g, `sbp_${masked}`],
  // Members of JSON, in reports also with escaped quotes.
  [
    new RegExp(`(\\\\*"(?:${secretNames})\\\\*"\\s*:\\s*\\\\*")((?:[^"\\\\]|\\\\[^"])*)`, 'gi'),
    `$1${masked}`,
  ],
  // Parameters of URLs and forms.
  [new RegExp(`([?&#]|^)(${secretNames})=[^&\\s"#]+`, 'gim'), `$1$2=${masked}`],
  // Headers.
  [/^((?:proxy-)?authorization|apikey|x-api-key|cookie|set-cookie): .+$/gim, `$1: ${masked}`],
  // Passwords in URLs.
  [/(\w+:\/\/[^\s:/@]*):[^\s@/]+@/g, `$1:${masked}@`],
]

/** Makes a function that replaces secrets in a text: the target's own, and whatever looks like one. */
export function masker(targets: readonly Target[]): (text: string) => string {
  const own = targets
    .flatMap(({ anonKey, serviceKey, jwtSecret, databaseUrl, s3, platform }) => [
      anonKey,
      serviceKey,
      jwtSecret,
      databaseUrl,
      s3?.secretAccessKey ?? '',
      platform?.accessToken ?? '',
    ])
    .filter((secret) => secret.length > 5)
  return (text) => {
    let result = text
    for (const secret of own) {
      result = result.replaceAll(secret, masked).replaceAll(encodeURIComponent(secret), masked)
    }
    for (const [pattern, replacement] of patterns) result = result.replace(pattern, replacement)
    return result
  }
}

/** Applies `mask` to every text of a value. */
export function maskAll<T>(value: T, mask: (text: string) => string): T {
  if (typeof value === 'string') return mask(value) as T
  if (Array.isArray(value)) return value.map((one: unknown) => maskAll(one, mask)) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, one]) => [name, maskAll(one as unknown, mask)])
  return Object.fromEntries(entries) as T
}
