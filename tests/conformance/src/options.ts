import { parseArgs } from 'node:util'

import type { Target } from './target.ts'

/** What the command line and the environment ask for. */
export interface Options {
  target: Target
  /** The server to compare with. */
  other: Target | null
  require: string[]
  only: string[]
  jobs: number
  timeout: number
  junit: string
  json: string
  html: string
  /** Said in the reports: which server it is, and what made them. */
  about: string
  action: 'run' | 'list' | 'print-sql' | 'swap-check' | 'help'
  selfCheck: boolean
  /** The folder of the project that `swap check` looks at. */
  project: string
}

/** Thrown for a command line that cannot be understood. */
export class UsageError extends Error {
  override name = 'UsageError'
}

export const usage = `Asks a server with Supabase's interfaces whether it keeps their promises.

Usage: basalt-conformance --url URL --anon-key KEY [--service-key KEY] [--db-url URL] [options]
       basalt-conformance swap check [--project DIR] [--url URL --anon-key KEY …] [--json FILE]

Server (names in brackets are those of the environment)
  --url URL                where the interfaces are: URL/rest/v1, … [SUPABASE_URL]
  --anon-key KEY           the anonymous or publishable key [SUPABASE_ANON_KEY]
  --service-key KEY        the service-role or secret key [SUPABASE_SERVICE_ROLE_KEY]
  --db-url URL             its database: the kit makes its schema there, and removes it [DATABASE_URL]
  --mail-url URL           a Mailpit with the mails that it sends [MAIL_URL]
  --jwt-secret SECRET      what its HS256 tokens are signed with [JWT_SECRET]
  --s3-access-key-id ID, --s3-secret-access-key KEY, --s3-region REGION
                           keys of the S3 protocol [S3_PROTOCOL_ACCESS_KEY_ID, …]
  --access-token TOKEN     a token of the Management API, sbp_… [SUPABASE_ACCESS_TOKEN]
  --project-ref REF        the reference of the server's project there [SUPABASE_PROJECT_ID]
  --platform-url URL       where the Management API is, by default at --url [SUPABASE_API_URL]

What to do
  --only PREFIX,…          the cases below these names: rest.filter, auth
  --require PREFIX,…       what has to hold, but for what -PREFIX names; without it, nothing may differ
  --jobs N                 cases at the same time, by default 8
  --timeout S              seconds that a case may take, by default 30
  --self-check             spoils each response that was judged, and lists the cases that do not notice
  --compare URL            asks this server, too, and prints where the two differ; its keys and the like are
                           --compare-anon-key, --compare-service-key, --compare-db-url, --compare-mail-url,
                           --compare-jwt-secret, --compare-access-token, --compare-project-ref,
                           --compare-platform-url [COMPARE_SUPABASE_ANON_KEY, …]
  --list                   prints the cases
  --print-sql              prints the SQL of the kit's schema, for a database that it cannot reach

swap check
  Lists the features that the SQL, the settings, the functions and the client of a project use, and what of them the
  server lacks; without --url only the list.
  --project DIR            a folder with supabase/config.toml or config.toml, by default the current one

Reports
  --junit FILE, --json FILE, --html FILE; swap check has only --json
  --about TEXT             what is said in them about the server and what made them

Ends with 0 if what was asked for holds, 1 if it does not, 2 for wrong usage, 3 if the server cannot be reached.
`

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const flags = {
  ...{ url: text, 'anon-key': text, 'service-key': text, 'db-url': text, 'mail-url': text },
  ...{ 'jwt-secret': text, 's3-access-key-id': text, 's3-secret-access-key': text },
  ...{ 'access-token': text, 'project-ref': text, 'platform-url': text },
  ...{ 's3-region': text, require: text, only: text, jobs: text, timeout: text },
  ...{ junit: text, json: text, html: text, about: text, compare: text, project: text },
  ...{ 'compare-anon-key': text, 'compare-service-key': text, 'compare-db-url': text },
  ...{ 'compare-mail-url': text, 'compare-jwt-secret': text, 'compare-access-token': text },
  ...{ 'compare-project-ref': text, 'compare-platform-url': text },
  ...{ 'self-check': flag, 'print-sql': flag, list: flag, help: { ...flag, short: 'h' } },
} as const

type Values = Partial<Record<string, string | boolean>>

/** Reads the command line; throws a UsageError for one that cannot be understood. */
export function parseOptions(args: string[], environment: NodeJS.ProcessEnv): Options {
  const values = parse(args)
  const action = values.help
    ? 'help'
    : values['print-sql']
      ? 'print-sql'
      : values.list
        ? 'list'
        : values.swap
          ? 'swap-check'
          : 'run'
  const get = (name: string, variable: string) =>
    asText(values[name]) || (environment[variable] ?? '')
  const target = targetOf(get, '', asText(values.url) || (environment.SUPABASE_URL ?? ''))
  if (action === 'swap-check' && target.url === '' && values['db-url'] !== undefined) {
    throw new UsageError('--db-url is of no use without --url')
  }
  const compare = asText(values.compare)
  if (action === 'run' || (action === 'swap-check' && target.url !== '')) {
    checkTarget(target, '')
  }
  const other = compare === '' ? null : targetOf(get, 'compare-', compare)
  if (other) checkTarget(other, 'compare-')
  return {
    target,
    other,
    require: list(asText(values.require)),
    only: list(asText(values.only)),
    jobs: number('jobs', asText(values.jobs), 8),
    timeout: number('timeout', asText(values.timeout), 30),
    junit: asText(values.junit),
    json: asText(values.json),
    html: asText(values.html),
    about: asText(values.about),
    action,
    selfCheck: values['self-check'] === true,
    project: asText(values.project) || '.',
  }
}

function parse(args: string[]): Values {
  const swap = args[0] === 'swap' && args[1] === 'check'
  try {
    const { values } = parseArgs({ args: swap ? args.slice(2) : args, options: flags })
    checkCommand(values, swap)
    return { ...values, swap }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Refuses what would have no effect. */
function checkCommand(values: Values, swap: boolean): void {
  const foreign = swap
    ? /^(require|only|junit|html|self-check|list|print-sql|compare.*)$/
    : /^project$/
  const name = Object.keys(values).find((one) => foreign.test(one))
  if (name !== undefined) throw new Error(`--${name} is ${swap ? 'no' : 'an'} option of swap check`)
}

function targetOf(
  get: (name: string, variable: string) => string,
  prefix: string,
  url: string,
): Target {
  const value = (name: string, variable: string) =>
    get(`${prefix}${name}`, `${prefix.toUpperCase().replaceAll('-', '_')}${variable}`)
  const accessKeyId = value('s3-access-key-id', 'S3_PROTOCOL_ACCESS_KEY_ID')
  const secretAccessKey = value('s3-secret-access-key', 'S3_PROTOCOL_ACCESS_KEY_SECRET')
  const region = value('s3-region', 'S3_PROTOCOL_REGION') || 'local'
  const accessToken = value('access-token', 'SUPABASE_ACCESS_TOKEN')
  const projectRef = value('project-ref', 'SUPABASE_PROJECT_ID')
  const platformUrl = value('platform-url', 'SUPABASE_API_URL') || url
  return {
    url: withoutSlash(url),
    anonKey: value('anon-key', 'SUPABASE_ANON_KEY'),
    serviceKey: value('service-key', 'SUPABASE_SERVICE_ROLE_KEY'),
    databaseUrl: value('db-url', 'DATABASE_URL'),
    mailUrl: withoutSlash(value('mail-url', 'MAIL_URL')),
    jwtSecret: value('jwt-secret', 'JWT_SECRET'),
    s3: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey, region } : null,
    platform:
      accessToken && projectRef
        ? { url: withoutSlash(platformUrl), accessToken, projectRef }
        : null,
  }
}

function checkTarget({ url, anonKey, platform }: Target, prefix: '' | 'compare-'): void {
  const urlFlag = prefix === '' ? '--url' : '--compare'
  if (url === '') throw new UsageError(`${urlFlag} is missing: the URL of the server`)
  if (!isUrl(url)) throw new UsageError(`${urlFlag}: ${url} is no URL`)
  if (anonKey === '')
    throw new UsageError(`--${prefix}anon-key is missing: the server's anonymous key`)
  if (platform === null) return
  if (!isUrl(platform.url))
    throw new UsageError(`--${prefix}platform-url: ${platform.url} is no URL`)
  // It becomes a part of paths.
  if (!/^[a-z]{20}$/.test(platform.projectRef))
    throw new UsageError(`--${prefix}project-ref: ${platform.projectRef} is no reference`)
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text)
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

function asText(value: string | boolean | undefined): string {
  return typeof value === 'string' ? value : ''
}

function list(value: string): string[] {
  return value.split(',').flatMap((one) => one.trim() || [])
}

function number(name: string, value: string, otherwise: number): number {
  if (value === '') return otherwise
  const parsed = Number(value)
  if (!(parsed > 0) || !Number.isFinite(parsed))
    throw new UsageError(`--${name}: ${value} is no positive number`)
  return Math.max(1, Math.floor(parsed))
}
