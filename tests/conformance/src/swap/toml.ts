/** Reads TOML as far as `config.toml` needs it: everything but the checks of dates, which stay text. */

/** A value, and the line that it begins on. Tables are flattened: `[auth.email] enable_signup` is one entry. */
export interface Setting {
  path: readonly string[]
  value: Value
  line: number
}

export type Value =
  string | number | boolean | readonly Value[] | { readonly [name: string]: Value }

/** Thrown for a text that is no TOML. */
export class TomlError extends Error {
  override name = 'TomlError'
}

/** Reads a document: its settings in their order. A table is a setting, too: an empty one where it is opened. */
export function parseToml(text: string): Setting[] {
  return new Reader(text).document()
}

const escapes: Readonly<Record<string, string>> = {
  ...{ b: '\b', t: '\t', n: '\n', f: '\f', r: '\r', e: '\u001b', '"': '"', '\\': '\\' },
}

class Reader {
  #at = 0

  constructor(private readonly text: string) {}

  document(): Setting[] {
    const settings: Setting[] = []
    const elements = new Map<string, number>()
    let table: string[] = []
    while (this.#next() !== '') {
      const line = this.#line()
      if (this.#takes('[')) {
        const isElement = this.#takes('[')
        table = this.#key()
        this.#expects(isElement ? ']]' : ']')
        if (isElement) {
          const name = JSON.stringify(table)
          const index = elements.get(name) ?? 0
          elements.set(name, index + 1)
          table = [...table, String(index)]
        }
        settings.push({ path: table, value: {}, line })
      } else {
        const path = [...table, ...this.#key()]
        this.#expects('=')
        this.#space()
        settings.push({ path, value: this.#value(), line })
      }
      this.#end()
    }
    return settings
  }

  #key(): string[] {
    const names: string[] = []
    do {
      this.#space()
      const quote = this.text[this.#at]
      if (quote === '"' || quote === "'") names.push(this.#string(quote))
      else names.push(this.#match(/[\w-]+/y, 'a key'))
      this.#space()
    } while (this.#takes('.'))
    return names
  }

  #value(): Value {
    const first = this.text[this.#at]
    if (first === '"' || first === "'") return this.#string(first)
    if (first === '[') return this.#array()
    if (first === '{') return this.#inline()
    return scalar(this.#match(/[^\s,#\]}]+(?: \d\d:[^\s,#\]}]+)?/y, 'a value'))
  }

  #array(): Value[] {
    const values: Value[] = []
    this.#expects('[')
    while (this.#next() !== ']') {
      values.push(this.#value())
      if (this.#next() !== ']') this.#expects(',')
    }
    this.#expects(']')
    return values
  }

  #inline(): Value {
    const table: Record<string, Value> = {}
    this.#expects('{')
    while (this.#next() !== '}') {
      const path = this.#key()
      this.#expects('=')
      this.#space()
      put(table, path, this.#value())
      if (this.#next() !== '}') this.#expects(',')
    }
    this.#expects('}')
    return table
  }

  #string(quote: '"' | "'"): string {
    const isLong = this.text.startsWith(quote.repeat(3), this.#at)
    const end = isLong ? quote.repeat(3) : quote
    this.#at += end.length
    // The line break that directly follows the opening quotes is no part of the text.
    if (isLong) this.#match(/\r?\n?/y, 'a text')
    let value = ''
    while (!this.text.startsWith(end, this.#at)) {
      const letter = this.text[this.#at]
      if (letter === undefined || (!isLong && letter === '\n')) this.#fails(end)
      this.#at += 1
      value += letter === '\\' && quote === '"' ? this.#escaped() : letter
    }
    this.#at += end.length
    // Up to two quotes may stand directly before the closing three.
    for (; isLong && this.text[this.#at] === quote; this.#at += 1) value += quote
    return value
  }

  #escaped(): string {
    const letter = this.text[this.#at] ?? ''
    if (/[uUx]/.test(letter)) {
      this.#at += 1
      const length = { u: 4, U: 8, x: 2 }[letter] ?? 0
      const code = parseInt(this.text.slice(this.#at, this.#at + length), 16)
      this.#at += length
      if (!(code <= 0x10ffff)) this.#fails('a character by its number')
      return String.fromCodePoint(code)
    }
    if (/\s/.test(letter)) {
      this.#match(/\s+/y, 'a line break')
      return ''
    }
    const value = escapes[letter] ?? this.#fails('an escape')
    this.#at += 1
    return value
  }

  /** Returns the character after spaces, line breaks and comments; empty at the end. */
  #next(): string {
    this.#match(/(?:\s|#[^\n]*)*/y, 'nothing')
    return this.text[this.#at] ?? ''
  }

  #space(): void {
    this.#match(/[ \t]*/y, 'nothing')
  }

  #end(): void {
    this.#match(/[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y, 'the end of the line')
  }

  #takes(text: string): boolean {
    const isThere = this.text.startsWith(text, this.#at)
    if (isThere) this.#at += text.length
    return isThere
  }

  #expects(text: string): void {
    this.#space()
    if (!this.#takes(text)) this.#fails(`'${text}'`)
  }

  #match(pattern: RegExp, what: string): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.text)?.[0] ?? this.#fails(what)
    this.#at += found.length
    return found
  }

  #line(): number {
    return this.text.slice(0, this.#at).split('\n').length
  }

  #fails(expected: string): never {
    throw new TomlError(`line ${this.#line()}: ${expected} is missing`)
  }
}

/** Numbers and booleans as such; dates and times as they are written. */
function scalar(text: string): Value {
  if (text === 'true' || text === 'false') return text === 'true'
  const bare = text.replaceAll('_', '')
  if (/^[+-]?(inf|nan)$/.test(text))
    return Number(text.replace('inf', 'Infinity').replace('nan', 'NaN'))
  if (/^(0[xob][\da-f]+|[+-]?\d+(\.\d+)?(e[+-]?\d+)?)$/i.test(bare)) return Number(bare)
  if (/^\d+[-:]/.test(text)) return text
  throw new TomlError(`${text} is no value`)
}

function put(table: Record<string, Value>, path: readonly string[], value: Value): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    table[name] = value
    return
  }
  const there = table[name]
  const inner: Record<string, Value> = isTable(there) ? { ...there } : {}
  put(inner, rest, value)
  table[name] = inner
}

/** Returns whether a value is a table, an inline one or `[one]` in the document. */
export function isTable(value: Value | undefined): value is Readonly<Record<string, Value>> {
  return typeof value === 'object' && !Array.isArray(value)
}
