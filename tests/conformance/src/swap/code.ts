/** A source without its comments: every other character is where it was. */
interface Code {
  text: string
  /** Whether the character at an index is part of a text or of a regular expression. */
  isText: (index: number) => boolean
}

/** What a `/` follows where it begins a regular expression. */
const beforeExpression =
  /(?:^|[=([{,;:!&|?+\-*%<>~^]|\b(?:return|typeof|case|in|of|delete|void))\s*$/

/** Blanks the comments of JavaScript, TypeScript, or JSON with comments, and tells where its texts are. */
export function withoutComments(source: string): Code {
  const isText = new Uint8Array(source.length)
  const parts: string[] = []
  /** For each `${` that is open: how many braces are open within it. */
  const braces: number[] = []
  let at = 0
  const take = (end: number, asText: boolean) => {
    if (asText) isText.fill(1, at, end)
    parts.push(source.slice(at, end))
    at = end
  }
  const template = () => {
    const end = endOf(source, at + 1, /`|\$\{/g)
    const opens = source.startsWith('${', end - 2)
    take(end, true)
    if (opens) braces.push(0)
  }
  while (at < source.length) {
    const letter = source[at]
    const two = source.slice(at, at + 2)
    if (two === '//' || two === '/*') {
      const end = two === '//' ? indexOf(source, '\n', at) : indexOf(source, '*/', at + 2) + 2
      const last = Math.min(end, source.length)
      parts.push(source.slice(at, last).replaceAll(/[^\n]/g, ' '))
      at = last
    } else if (letter === '"' || letter === "'") {
      // In the text of a page an apostrophe stands alone: what it begins ends with its line.
      take(endOf(source, at + 1, letter === '"' ? /"|\n/g : /'|\n/g), true)
    } else if (letter === '`') template()
    else if (letter === '}' && braces.at(-1) === 0) {
      braces.pop()
      template()
    } else if (letter === '/' && beforeExpression.test(source.slice(Math.max(0, at - 20), at))) {
      take(
        endOf(source, at + 1, /\[(?:\\.|[^\]\\\n])*\]|\/|\n/g, (found) => !found.startsWith('[')),
        true,
      )
    } else {
      if (letter === '{' && braces.length > 0) braces.push((braces.pop() ?? 0) + 1)
      if (letter === '}' && braces.length > 0) braces.push((braces.pop() ?? 0) - 1)
      take(at + 1, false)
    }
  }
  return { text: parts.join(''), isText: (index) => isText[index] === 1 }
}

/** Returns the place after the first match that no backslash precedes. */
function endOf(
  source: string,
  from: number,
  end: RegExp,
  ends: (found: string) => boolean = () => true,
): number {
  const mark = new RegExp(`\\\\[^]|${end.source}`, 'g')
  mark.lastIndex = from
  for (let found = mark.exec(source); found; found = mark.exec(source)) {
    if (!found[0].startsWith('\\') && ends(found[0])) return mark.lastIndex
  }
  return source.length
}

function indexOf(source: string, text: string, from: number): number {
  const index = source.indexOf(text, from)
  return index < 0 ? source.length : index
}
