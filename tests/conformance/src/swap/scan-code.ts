/** Finds the features that sources in JavaScript and TypeScript use: functions, and clients of the project. */
import { withoutComments } from './code.ts'
import type { Source, Use } from './use.ts'

interface Rule {
  pattern: RegExp
  feature: string
  /** Whether the pattern begins in a text: a path or a URL. */
  inText?: boolean
  /** Whether the pattern's group is the name of the use; else it is the thing. */
  named?: boolean
}

/** What both call: the client library, and the paths of the interfaces. */
const calls: readonly Rule[] = [
  { pattern: /\.signInWithPassword\s*\(|\.resetPasswordForEmail\s*\(/g, feature: 'auth.email' },
  { pattern: /\.signInAnonymously\s*\(/g, feature: 'auth.anonymous' },
  { pattern: /\.signInWithOtp\s*\(/g, feature: 'auth.otp' },
  {
    pattern: /\.(?:signInWithOAuth|linkIdentity)\s*\(\s*\{[^}]*?\bprovider\s*:\s*['"`](\w+)/g,
    ...{ feature: 'auth.provider', named: true },
  },
  { pattern: /\.signInWithIdToken\s*\(/g, feature: 'auth.id-token' },
  { pattern: /\.signInWithSSO\s*\(/g, feature: 'auth.sso' },
  {
    pattern: /\.signInWithWeb3\s*\(\s*\{[^}]*?\bchain\s*:\s*['"`](\w+)/g,
    ...{ feature: 'auth.web3', named: true },
  },
  { pattern: /\.(?:un)?linkIdentity\s*\(/g, feature: 'auth.manual-linking' },
  { pattern: /\.reauthenticate\s*\(\s*\)/g, feature: 'auth.reauthentication' },
  { pattern: /\.exchangeCodeForSession\s*\(/g, feature: 'auth.pkce' },
  { pattern: /\bflowType\s*:\s*['"`]pkce/g, feature: 'auth.pkce' },
  { pattern: /\bfactorType\s*:\s*['"`]totp/g, feature: 'auth.mfa.totp' },
  { pattern: /\bfactorType\s*:\s*['"`]phone/g, feature: 'auth.mfa.phone' },
  { pattern: /\bfactorType\s*:\s*['"`]webauthn/g, feature: 'auth.mfa.web-authn' },
  { pattern: /\bauth\s*\.\s*admin\s*\./g, feature: 'auth.admin' },
  { pattern: /\bcaptchaToken\b/g, feature: 'auth.captcha' },
  { pattern: /\.rpc\s*\(\s*['"`]?(\w*)/g, feature: 'rest.functions' },
  { pattern: /\.textSearch\s*\(/g, feature: 'rest.text-search' },
  { pattern: /\.(?:csv|geojson)\s*\(\s*\)/g, feature: 'rest.media-types' },
  { pattern: /\/graphql\/v1\b/g, feature: 'graphql', inText: true },
  { pattern: /\bstorage\s*\.\s*from\s*\(\s*['"`]?([\w-]*)/g, feature: 'storage.buckets' },
  {
    pattern: /\.(?:createSignedUrls?|createSignedUploadUrl|uploadToSignedUrl)\s*\(/g,
    feature: 'storage.signed-urls',
  },
  { pattern: /\/upload\/resumable\b/g, feature: 'storage.resumable', inText: true },
  { pattern: /\/storage\/v1\/s3\b/g, feature: 'storage.s3', inText: true },
  { pattern: /\/render\/image\//g, feature: 'storage.image-transformation', inText: true },
  {
    pattern: /\.(?:getPublicUrl|createSignedUrls?|download)\s*\([^;]*?\btransform\s*:/g,
    feature: 'storage.image-transformation',
  },
  { pattern: /\bstorage\s*\.\s*vectors\b/g, feature: 'storage.vectors' },
  { pattern: /\bstorage\s*\.\s*analytics\b/g, feature: 'storage.analytics' },
  { pattern: /\.channel\s*\(/g, feature: 'realtime.channels' },
  { pattern: /\.on\s*\(\s*['"`]postgres_changes/g, feature: 'realtime.changes' },
  { pattern: /\.on\s*\(\s*['"`]broadcast/g, feature: 'realtime.broadcast' },
  { pattern: /\btype\s*:\s*['"`]broadcast/g, feature: 'realtime.broadcast' },
  { pattern: /\.on\s*\(\s*['"`]presence|\.presenceState\s*\(/g, feature: 'realtime.presence' },
  { pattern: /\bconfig\s*:\s*\{[^}]*?\bprivate\s*:\s*true/g, feature: 'realtime.private' },
  {
    pattern: /\bfunctions\s*\.\s*invoke\s*\(\s*['"`]?([\w-]*)/g,
    feature: 'functions.served',
  },
]

/** What only functions use: the runtime. */
const runtime: readonly Rule[] = [
  {
    pattern: /\b(?:from|import)\b\s*\(?\s*['"]npm:((?:@[\w.-]+\/)?[\w.-]+)/g,
    feature: 'functions.npm',
  },
  {
    pattern: /\b(?:from|import)\b\s*\(?\s*['"]jsr:((?:@[\w.-]+\/)?[\w.-]+)/g,
    feature: 'functions.jsr',
  },
  {
    pattern: /\b(?:from|import)\b\s*\(?\s*['"]https?:\/\/([\w.-]+)/g,
    feature: 'functions.url-import',
  },
  { pattern: /\bEdgeRuntime\s*\.\s*waitUntil\b/g, feature: 'functions.background' },
  { pattern: /\bDeno\s*\.\s*upgradeWebSocket\b/g, feature: 'functions.websocket' },
  { pattern: /\bnew\s+WebSocket\s*\(/g, feature: 'functions.websocket-client' },
  { pattern: /\bSupabase\s*\.\s*ai\b/g, feature: 'functions.ai' },
  { pattern: /\bDeno\s*\.\s*(?:connect|connectTls)\s*\(/g, feature: 'functions.tcp' },
]

/** Finds uses of the client library and of the interfaces' paths. */
export function scanClient(source: Source): Use[] {
  return scan(source, calls)
}

/** Finds uses in a function's source: the client's, and those of the runtime. */
export function scanFunction(source: Source): Use[] {
  return scan(source, [...calls, ...runtime])
}

/** Finds uses in an import map, which may be a `deno.json`. */
export function scanImportMap({ file, text }: Source): Use[] {
  const { text: read } = withoutComments(text)
  const lines = read.split('\n')
  const first = lines.findIndex((line) => /"(imports|scopes)"\s*:/.test(line))
  if (first < 0) return []
  const kinds = [
    ['functions.npm', /:\s*"npm:\/?((?:@[\w.-]+\/)?[\w.-]+)/],
    ['functions.jsr', /:\s*"jsr:\/?((?:@[\w.-]+\/)?[\w.-]+)/],
    ['functions.url-import', /:\s*"https?:\/\/([\w.-]+)/],
  ] as const
  const imports = lines.flatMap((line, index) =>
    kinds.flatMap(([feature, pattern]) =>
      [...line.matchAll(new RegExp(pattern, 'g'))].map(([, thing = '']) => ({
        ...{ feature, name: '', thing, file, line: index + 1 },
      })),
    ),
  )
  return [
    { feature: 'functions.import-map', name: '', thing: '', file, line: first + 1 },
    ...imports,
  ]
}

function scan({ file, text }: Source, rules: readonly Rule[]): Use[] {
  const { text: read, isText } = withoutComments(text)
  const uses = rules.flatMap(({ pattern, feature, inText = false, named = false }) =>
    [...read.matchAll(pattern)].flatMap((match) => {
      if (isText(match.index) !== inText) return []
      const found = match[1] ?? ''
      const line = read.slice(0, match.index).split('\n').length
      return [{ feature, name: named ? found : '', thing: named ? '' : found, file, line }]
    }),
  )
  return uses.sort((a, b) => a.line - b.line)
}
