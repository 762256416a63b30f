/** Finds the features that a project's SQL uses. What is dropped later counts, too: the statement that makes it is run. */
import { argumentsOf, nameAt, type Name, Words } from './words.ts'
import { parseSql, type Statement, type Token } from './sql.ts'
import type { Source, Use } from './use.ts'

/** The members of extensions' schemas that show the extension; any other word may follow an alias of that name. */
const members: Readonly<Record<string, { extension: string; names: RegExp }>> = {
  cron: { extension: 'pg_cron', names: /^(un)?schedule|^alter_job$|^job(_run_details)?$/ },
  net: { extension: 'pg_net', names: /^_?http_/ },
  vault: { extension: 'supabase_vault', names: /^(create|update)_secret$|^(decrypted_)?secrets$/ },
  pgmq: { extension: 'pgmq', names: /^[a-z_]+$/ },
  graphql: { extension: 'pg_graphql', names: /^[a-z_]+$/ },
  pgsodium: { extension: 'pgsodium', names: /^[a-z_]+$/ },
}

/** Schemas that the platform makes. What the extensions put into `extensions` is theirs. */
const platform = new Set([
  'auth',
  'storage',
  'realtime',
  'supabase_functions',
  'extensions',
  'pgmq_public',
])

/** Names that stand for roles and are none, and those that are part of every Postgres. */
const pseudoRoles = /^(public|current_role|current_user|session_user|none|default|pg_.*)$/

const untrusted = /^(c|internal|plperlu|pltclu|plpython\d?u)$/
const files = /^(pg_read_(binary_)?file|pg_ls_dir|pg_stat_file|lo_import|lo_export)$/

/** Words after which a statement of a function's body begins. */
const beginnings = new Set(['begin', 'then', 'else', 'loop', 'atomic'])

/** What all files of a project make, for what a single statement does not tell. */
interface ProjectObjects {
  tables: Set<string>
  objects: Set<string>
  schemas: Set<string>
  roles: Set<string>
}

/** Finds uses in files of SQL that belong together; `exposed` are the schemas of REST. */
export function scanSql(sources: readonly Source[], exposed: readonly string[]): Use[] {
  const parsed = sources.flatMap(({ file, text }) =>
    parseSql(text)
      .flatMap(withBodies)
      .map((statement) => ({ file, statement })),
  )
  const made: ProjectObjects = {
    ...{ tables: new Set(), objects: new Set(), schemas: new Set(), roles: new Set() },
  }
  for (const { statement } of parsed) note(new Words(statement), made)
  return parsed.flatMap(({ file, statement }) =>
    new Scan(file, new Words(statement), new Set(exposed), made).all(),
  )
}

/** Returns a statement, and those of the code in it: bodies of functions and blocks, commands of jobs. */
function withBodies(statement: Statement): Statement[] {
  return [statement, ...codeOf(new Words(statement)).flatMap(inner)]
}

function inner({ value, line }: Token): Statement[] {
  return parseSql(value, line).flatMap(withBodies)
}

function codeOf(words: Words): Token[] {
  const { tokens } = words
  const language = words.after('language')
  const isSql = language === '' || language === 'sql' || language === 'plpgsql'
  const isText = ({ kind }: Token) => kind === 'text'
  if (words.has(0, 'do')) return isSql ? tokens.filter(isText) : []
  if (words.made()?.kind === 'function') {
    const as = tokens.findIndex((token, at) => token.value === 'as' && words.isText(at + 1))
    return isSql && as >= 0 ? tokens.slice(as + 1, as + 2) : []
  }
  if (words.calls('cron', /^schedule/)) return tokens.filter(isText)
  // What a body puts together and runs: its first text is the statement.
  return tokens.filter(
    (token, at) =>
      isText(token) && (words.has(at - 1, 'execute') || words.has(at - 3, 'execute', 'format')),
  )
}

function note(words: Words, made: ProjectObjects): void {
  const found = words.made()
  if (!found) return
  const { kind, name } = found
  if (kind === 'role') made.roles.add(name.name)
  else if (kind === 'schema') made.schemas.add(name.name)
  else made.objects.add(name.full)
  if (kind === 'table' || kind === 'view') made.tables.add(name.full)
}

/** The uses of one statement. */
class Scan {
  readonly #uses: Use[] = []

  constructor(
    private readonly file: string,
    private readonly words: Words,
    private readonly exposed: ReadonlySet<string>,
    private readonly made: ProjectObjects,
  ) {}

  all(): Use[] {
    this.#definition()
    const { tokens } = this.words
    for (const [at, token] of tokens.entries()) {
      this.#phrase(at, token)
      if (token.kind === 'text') this.#text(at, token)
      else if (token.kind !== 'symbol' && tokens[at + 1]?.value === '.') this.#qualified(at, token)
    }
    return this.#uses
  }

  #use(feature: string, { line }: Token, name = '', thing = ''): void {
    this.#uses.push({ feature, name, thing, file: this.file, line })
  }

  /** Notes what `create` and `alter` are about. */
  #definition(): void {
    const { words } = this
    const made = words.made()
    const altered = words.has(0, 'alter', 'table') ? nameAt(words.tokens, words.skip(2)) : null
    const table = made?.kind === 'table' ? made.name : altered
    if (table && this.exposed.has(table.schema)) this.#columns(table, made !== null)
    if (!made) return
    const { kind, name, token } = made
    if (kind === 'extension') this.#use('extension', token, name.name)
    else if (kind === 'view' && this.exposed.has(name.schema))
      this.#use('rest.views', token, '', name.full)
    else if (kind === 'function') this.#function(name, token)
    else if (kind === 'domain' && name.name.includes('/'))
      this.#use('rest.media-types', token, '', name.name)
    else if (kind === 'cast' && words.some(/^jsonb?$/)) this.#use('rest.domains', token)
    else if (kind === 'publication' || kind === 'subscription') {
      if (name.name === 'supabase_realtime') this.#publication(token)
      else this.#use('database.replication', token, '', name.name)
    } else if (kind === 'event trigger') this.#use('database.event-triggers', token, '', name.name)
    else if (kind === 'language' && untrusted.test(name.name))
      this.#superuser(token, `language ${name.name}`)
    else if (kind === 'tablespace') this.#superuser(token, 'create tablespace')
    else if (kind === 'foreign data wrapper')
      this.#use('database.foreign-data', token, '', name.name)
  }

  #columns(table: Name, isNew: boolean): void {
    const { words } = this
    const [first] = words.tokens
    if (isNew && first) this.#use('rest.tables', first, '', table.full)
    for (const [at, token] of words.tokens.entries()) {
      if (token.kind !== 'word') continue
      if (token.value === 'references') {
        // Only what REST shows at both ends is a relationship.
        const other = nameAt(words.tokens, at + 1)
        if (other && this.exposed.has(other.schema)) {
          this.#use('rest.foreign-keys', token, '', table.full)
        }
      } else if (token.value === 'tsvector') this.#use('rest.text-search', token, '', table.full)
    }
  }

  #function(name: Name, token: Token): void {
    const { words } = this
    const language = words.after('language')
    if (untrusted.test(language)) this.#superuser(token, `language ${language}`)
    const returned = words.after('returns')
    if (!this.exposed.has(name.schema) || /^(event_)?trigger$/.test(returned)) return
    const rows = argumentsOf(words.tokens, name.end)
    const only = rows.length === 1 ? rows[0] : undefined
    const type = only && [only.length - 3, only.length - 1].map((at) => nameAt(only, at)?.full)
    if (!type?.some((one) => one !== undefined && this.made.tables.has(one))) {
      this.#use('rest.functions', token, '', name.full)
    } else if (returned === 'setof') this.#use('rest.computed-relationships', token, '', name.full)
    else this.#use('rest.computed-columns', token, '', name.full)
  }

  #phrase(at: number, token: Token): void {
    const { words } = this
    if (token.kind !== 'word') return
    const is = (...phrase: string[]) => words.has(at, ...phrase)
    const begins = at === 0 || beginnings.has(words.tokens[at - 1]?.value ?? '')
    if (begins && is('alter', 'publication', 'supabase_realtime') && !words.has(at + 3, 'drop')) {
      this.#publication(token)
    }
    if (is('create', 'policy') || is('alter', 'policy')) this.#policy(token)
    if (is('insert', 'into', 'storage')) {
      if (words.tokens[at + 4]?.value === 'buckets') this.#use('storage.buckets', token)
    }
    if (begins && is('alter', 'system')) this.#superuser(token, 'alter system')
    if (begins && is('copy') && this.#copiesFile(at)) this.#superuser(token, 'copy of a file')
    if (
      begins &&
      (is('create', 'role') || is('alter', 'role') || is('create', 'user') || is('alter', 'user'))
    ) {
      for (const { value } of words.tokens.slice(at + 2)) {
        if (/^(superuser|bypassrls|replication)$/.test(value))
          this.#use('database.role-attributes', token, '', value)
      }
    }
    if (is('set', 'session_replication_role') || is('set', 'local', 'session_replication_role')) {
      this.#use('database.session-replication-role', token)
    }
    if (files.test(token.value) && words.tokens[at + 1]?.value === '(')
      this.#superuser(token, token.value)
    if (/^pg_create_logical_replication_slot$/.test(token.value))
      this.#use('database.replication', token)
    for (const role of words.rolesAt(at, begins)) {
      if (pseudoRoles.test(role.value) || this.made.roles.has(role.value)) continue
      this.#use('database.roles', role, '', role.value)
    }
  }

  #copiesFile(at: number): boolean {
    const { words } = this
    const next = words.tokens.findIndex(
      ({ kind, value }, i) => i > at && kind === 'word' && /^(from|to)$/.test(value),
    )
    return next > 0 && (words.tokens[next + 1]?.kind === 'text' || words.has(next + 1, 'program'))
  }

  #policy(token: Token): void {
    const { words } = this
    const on = words.tokens.findIndex(({ kind, value }) => kind === 'word' && value === 'on')
    const table = on > 0 ? nameAt(words.tokens, on + 1) : null
    if (!table) return
    if (table.schema === 'storage') this.#use('storage.policies', token, '', table.full)
    else if (table.full === 'realtime.messages') this.#use('realtime.private', token)
    else if (this.exposed.has(table.schema)) this.#use('rest.policies', token, '', table.full)
  }

  #publication(token: Token): void {
    const { tokens } = this.words
    const at = tokens.findIndex(({ kind, value }) => kind === 'word' && /^tables?$/.test(value))
    const table = at > 0 ? nameAt(tokens, at + 1) : null
    this.#use('realtime.changes', token, '', table?.full)
  }

  #text(at: number, token: Token): void {
    const { value } = token
    const isArgument = this.words.tokens[at - 1]?.value === '('
    if (isArgument && /^(request|response)\./.test(value))
      this.#use('rest.request-settings', token, '', value)
    if (isArgument && value.startsWith('pgrst.')) this.#setting(value.slice(6), token)
    if (value.startsWith('@graphql(')) this.#use('graphql', token)
  }

  /** Notes a name with a schema. */
  #qualified(at: number, token: Token): void {
    const { tokens } = this.words
    const next = tokens[at + 2]
    if (tokens[at - 1]?.value === '.' || !next || next.kind === 'symbol') return
    const schema = token.value
    const member = next.value
    const full = `${schema}.${member}`
    if (schema === 'pgrst') this.#setting(member, token)
    const extension = members[schema]
    if (extension?.names.test(member) && !this.made.schemas.has(schema)) {
      this.#use('extension', token, extension.extension, full)
    }
    if (schema === 'graphql' && member === 'resolve') this.#use('graphql', token)
    if (!platform.has(schema) || this.made.schemas.has(schema) || this.made.objects.has(full))
      return
    this.#use('database.schema', token, schema, schema === 'extensions' ? '' : full)
    const isCall = tokens[at + 3]?.value === '('
    if (schema === 'realtime' && /^(send|broadcast_changes)$/.test(member) && isCall) {
      this.#use('realtime.database', token, '', full)
    }
  }

  #setting(name: string, token: Token): void {
    if (name === 'db_aggregates_enabled') this.#use('rest.aggregates', token)
    else if (name === 'db_pre_request') this.#use('rest.pre-request', token)
    else this.#use('rest.settings', token, '', `pgrst.${name}`)
  }

  #superuser(token: Token, thing: string): void {
    this.#use('database.superuser', token, '', thing)
  }
}
