/** Splits SQL into statements and words, without what is only written about: comments, texts, data. */

/** A piece of a statement. Words are in lower case, quoted names as they are written. */
export interface Token {
  kind: 'word' | 'name' | 'text' | 'number' | 'symbol'
  /** For a text: what is between the quotes. */
  value: string
  line: number
}

export type Statement = readonly Token[]

const pattern = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<comment>--[^\n]*)`,
    String.raw`(?<block>/\*)`,
    String.raw`(?<escaped>[eE]'[^'\\]*(?:(?:\\[^]|'')[^'\\]*)*(?:'|$))`,
    String.raw`(?<quoted>(?:[uU]&|[bBxXnN])?'[^']*(?:''[^']*)*(?:'|$))`,
    String.raw`(?<dollar>\$(?<tag>(?:[\p{L}_][\p{L}\p{N}_]*)?)\$)`,
    String.raw`(?<name>(?:[uU]&)?"[^"]*(?:""[^"]*)*(?:"|$))`,
    String.raw`(?<word>[\p{L}_][\p{L}\p{N}_$]*)`,
    String.raw`(?<number>(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)`,
    String.raw`(?<parameter>\$\d+)`,
    String.raw`(?<cast>::)`,
    String.raw`(?<symbol>[^])`,
  ].join('|'),
  'uy',
)

/** Returns the statements of a text whose first line is `line`. */
export function parseSql(text: string, line = 1): Statement[] {
  const statements: Token[][] = []
  let statement: Token[] = []
  let at = 0
  const end = () => {
    if (statement.length > 0) statements.push(statement)
    statement = []
  }
  while (at < text.length) {
    const begin = at
    const isNewLine = at === 0 || text[at - 1] === '\n'
    // Dumps are written for psql: its own commands take a line each.
    if (isNewLine && statement.length === 0 && text[at] === '\\') {
      at = endOfLine(text, at)
    } else {
      pattern.lastIndex = at
      const found = pattern.exec(text)
      const { groups = {} } = found ?? {}
      at += found?.[0].length ?? 1
      if (groups.block !== undefined) at = endOfComment(text, at)
      else if (groups.dollar !== undefined) {
        const close = text.indexOf(groups.dollar, at)
        const last = close < 0 ? text.length : close
        // The text begins after its opening tag, which has no line break.
        statement.push({ kind: 'text', value: text.slice(at, last), line })
        at = Math.min(text.length, last + groups.dollar.length)
      } else if (groups.symbol === ';' && !isOpen(statement)) {
        const isData = isCopyOfData(statement)
        end()
        if (isData) at = endOfData(text, at)
      } else {
        const token = tokenOf(groups, line)
        if (token) statement.push(token)
      }
    }
    for (let i = begin; i < at; i += 1) if (text[i] === '\n') line += 1
  }
  end()
  return statements
}

function tokenOf(groups: Record<string, string | undefined>, line: number): Token | null {
  const { escaped, quoted, name, word, number, parameter, cast, symbol } = groups
  if (word !== undefined) return { kind: 'word', value: word.toLowerCase(), line }
  if (name !== undefined) {
    return { kind: 'name', value: between(name, '"').replaceAll('""', '"'), line }
  }
  if (quoted !== undefined) {
    return { kind: 'text', value: between(quoted, "'").replaceAll("''", "'"), line }
  }
  if (escaped !== undefined) {
    const value = between(escaped, "'").replace(/''|\\([^])/g, (_, one?: string) => one ?? "'")
    return { kind: 'text', value, line }
  }
  if (number !== undefined || parameter !== undefined) {
    return { kind: 'number', value: number ?? parameter ?? '', line }
  }
  const other = cast ?? symbol
  return other === undefined ? null : { kind: 'symbol', value: other, line }
}

function between(text: string, quote: string): string {
  const first = text.indexOf(quote) + 1
  return text.slice(first, text.length > first && text.endsWith(quote) ? -1 : undefined)
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

/** Comments of this kind may be within each other. */
function endOfComment(text: string, at: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = at
  let depth = 1
  while (depth > 0) {
    const found = mark.exec(text)
    if (!found) return text.length
    depth += found[0] === '/*' ? 1 : -1
  }
  return mark.lastIndex
}

/** Returns whether a semicolon is inside the statement: in a body `begin atomic … end`. */
function isOpen(statement: Statement): boolean {
  let depth = 0
  for (const [index, { kind, value }] of statement.entries()) {
    if (kind !== 'word') continue
    if (depth === 0) {
      if (value === 'atomic' && statement[index - 1]?.value === 'begin') depth = 1
    } else if (value === 'case') depth += 1
    else if (value === 'end') depth -= 1
  }
  return depth > 0
}

function isCopyOfData(statement: Statement): boolean {
  const words = statement.map(({ kind, value }) => (kind === 'word' ? value : ''))
  const from = words.lastIndexOf('from')
  return words[0] === 'copy' && from > 0 && words[from + 1] === 'stdin'
}

function endOfData(text: string, at: number): number {
  const end = /^\\\.[ \t]*\r?$/m
  const rest = text.slice(at)
  const found = end.exec(rest)
  return found ? endOfLine(text, at + found.index) : text.length
}
