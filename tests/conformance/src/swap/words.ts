import type { Statement, Token } from './sql.ts'

/** A name, with `public` for the schema where it has none. */
export interface Name {
  schema: string
  name: string
  full: string
  /** Where the statement goes on. */
  end: number
}

/** What a statement makes. */
interface CreatedObject {
  kind: string
  name: Name
  token: Token
}

/** Words between `create` and what is made. */
const adjectives = new Set(
  'or replace global local temp temporary unlogged recursive materialized foreign trusted procedural constraint unique'.split(
    ' ',
  ),
)

/** Kinds of two or three words, and those that are called by two words. */
const kinds: readonly [readonly string[], string][] = [
  [['foreign', 'data', 'wrapper'], 'foreign data wrapper'],
  [['event', 'trigger'], 'event trigger'],
  [['foreign', 'table'], 'table'],
  [['procedure'], 'function'],
  [['user'], 'role'],
  [['group'], 'role'],
  ...'extension schema table view function domain cast publication subscription language tablespace role type'
    .split(' ')
    .map((kind): [readonly string[], string] => [[kind], kind]),
]

/** Returns the name at a place of a statement; null where there is none. */
export function nameAt(tokens: Statement, at: number): Name | null {
  const first = tokens[at]
  if (!isName(first)) return null
  if (tokens[at + 1]?.value !== '.') {
    return { schema: 'public', name: first.value, full: `public.${first.value}`, end: at + 1 }
  }
  const second = tokens[at + 2]
  // What a body puts together has no name here: `public.%I`.
  if (!isName(second)) return null
  const full = `${first.value}.${second.value}`
  return { schema: first.value, name: second.value, full, end: at + 3 }
}

/** Returns the arguments in the parentheses that begin at `at`: the tokens of each, without its default. */
export function argumentsOf(tokens: Statement, at: number): Token[][] {
  const all: Token[][] = []
  let one: Token[] = []
  let depth = 0
  let isDefault = false
  for (const token of tokens.slice(at)) {
    const { value, kind } = token
    const isSymbol = kind === 'symbol'
    if (isSymbol && value === '(') depth += 1
    if (isSymbol && value === ')') depth -= 1
    if (depth === 0) break
    if (isSymbol && value === '(' && depth === 1) continue
    if (depth === 1 && (value === 'default' || value === '=')) isDefault = true
    if (isSymbol && value === ',' && depth === 1) {
      all.push(one)
      one = []
      isDefault = false
    } else if (!isDefault) one.push(token)
  }
  return one.length > 0 ? [...all, one] : all
}

/** A statement, and what its words say. */
export class Words {
  constructor(readonly tokens: Statement) {}

  /**
   * Returns whether these words are at a place. Quoted names are no words of the language, but names of roles and the
   * like.
   */
  has(at: number, ...phrase: string[]): boolean {
    return phrase.every((word, index) => {
      const token = this.tokens[at + index]
      return isName(token) && token.value === word
    })
  }

  /** Returns whether a text is at a place. */
  isText(at: number): boolean {
    return this.tokens[at]?.kind === 'text'
  }

  /** Returns whether any word matches. */
  some(pattern: RegExp): boolean {
    return this.tokens.some(({ kind, value }) => kind === 'word' && pattern.test(value))
  }

  /** Returns the first word or text after a word; empty where there is none. */
  after(word: string): string {
    const at = this.tokens.findIndex(({ kind, value }) => kind === 'word' && value === word)
    return at < 0 ? '' : (this.tokens[at + 1]?.value ?? '')
  }

  /** Returns whether a function of a schema is called. */
  calls(schema: string, name: RegExp): boolean {
    return this.tokens.some(
      ({ value }, at) =>
        name.test(value) &&
        this.tokens[at - 1]?.value === '.' &&
        this.tokens[at - 2]?.value === schema,
    )
  }

  /** Returns the place after `if [not] exists` and `only`. */
  skip(at: number): number {
    let next = at
    while (['if', 'not', 'exists', 'only', 'concurrently'].includes(this.word(next))) next += 1
    return next
  }

  /**
   * Returns what the statement makes, wherever its `create` is: in a body it follows `begin` or `then`. Nothing for
   * temporary tables.
   */
  made(): CreatedObject | null {
    const create = this.tokens.findIndex(({ kind, value }) => kind === 'word' && value === 'create')
    const token = this.tokens[create]
    if (!token) return null
    let at = create + 1
    let kind = this.#kind(at)
    for (; !kind && adjectives.has(this.word(at)); kind = this.#kind(at)) {
      if (this.word(at).startsWith('temp')) return null
      at += 1
    }
    if (!kind) return null
    const name = nameAt(this.tokens, this.skip(at + kind[0].length))
    if (kind[1] === 'cast') return { kind: 'cast', name: name ?? nothing, token }
    // `create user mapping` makes no user.
    return name && !(kind[1] === 'role' && name.name === 'mapping')
      ? { kind: kind[1], name, token }
      : null
  }

  /**
   * Returns the roles that are named at a place: after `grant … to`, `owner to`, `set role`, `for role` and in
   * policies.
   */
  rolesAt(at: number, begins: boolean): Token[] {
    const word = this.word(at)
    if (word === 'to' && this.#givesTo(at)) return this.#list(at + 1)
    if (word === 'from' && this.word(0) === 'revoke') return this.#list(at + 1)
    if (word === 'role') {
      const before = this.word(at - 1)
      return ['for', 'set', 'local'].includes(before) ? this.#list(at + 1) : []
    }
    if (begins && word === 'alter' && /^(role|user)$/.test(this.word(at + 1))) {
      return this.word(at + 2) === 'mapping' ? [] : this.#list(at + 2)
    }
    return []
  }

  /** Returns the word at a place; empty for all that is no word. */
  word(at: number): string {
    const token = this.tokens[at]
    return token?.kind === 'word' ? token.value : ''
  }

  #kind(at: number): readonly [readonly string[], string] | undefined {
    return kinds.find(([words]) => words.every((word, index) => this.word(at + index) === word))
  }

  #givesTo(at: number): boolean {
    if (this.word(at - 1) === 'owner') return true
    const before = this.tokens.slice(0, at).map(({ kind, value }) => (kind === 'word' ? value : ''))
    // In defaults of privileges, `grant` comes later; `rename to` and `set schema to` have none.
    return before.includes('grant') || before.slice(0, 2).join(' ').endsWith('policy')
  }

  #list(at: number): Token[] {
    const roles: Token[] = []
    for (let next = at; isName(this.tokens[next]); next += 2) {
      const role = this.tokens[next]
      if (role?.value === 'group' && isName(this.tokens[next + 1])) next += 1
      const named = this.tokens[next]
      if (named) roles.push(named)
      if (this.tokens[next + 1]?.value !== ',') break
    }
    return roles
  }
}

const nothing: Name = { schema: '', name: '', full: '', end: 0 }

function isName(token: Token | undefined): token is Token {
  return token?.kind === 'word' || token?.kind === 'name'
}
