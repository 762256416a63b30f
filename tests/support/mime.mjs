/**
 * Reads a message: its headers, and its texts, which may be parts of it. Sources: RFC 5322, RFC 2046.
 * @param {string} message with each byte as one character
 * @returns {{ headers: Map<string, string>, parts: { type: string, text: string }[] }}
 */
export function parse(message) {
  const end = message.indexOf('\r\n\r\n')
  const lines = message
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const body = message.slice(end + 4)
  const content = headers.get('content-type') ?? 'text/plain'
  const boundary = /boundary="?([^";]+)/.exec(content)?.[1]
  if (boundary !== undefined) {
    const inner = body.split(`--${boundary}`).slice(1, -1)
    return { headers, parts: inner.flatMap((part) => parse(part.replace(/^\r\n/, '')).parts) }
  }
  const type = content.split(';')[0]?.trim().toLowerCase() ?? ''
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase() ?? ''
  return { headers, parts: [{ type, text: decode(body, encoding) }] }
}

/**
 * @param {string} text with each byte as one character
 * @param {string} encoding
 */
function decode(text, encoding) {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString()
  const isQuoted = encoding === 'quoted-printable'
  return Buffer.from(isQuoted ? unquoted(text.replaceAll('=\r\n', '')) : text, 'latin1').toString()
}

/** @param {string} text */
function unquoted(text) {
  return text.replaceAll(/=([0-9A-Fa-f]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)))
}

/**
 * Returns the text of a header with encoded words. Source: RFC 2047.
 * @param {string} header
 */
export function words(header) {
  return header.replaceAll(/=\?[^?]+\?([QB])\?([^?]*)\?=\s*/gi, (_, kind, text) =>
    kind.toUpperCase() === 'B'
      ? decode(text, 'base64')
      : decode(text.replaceAll('_', ' '), 'quoted-printable'),
  )
}
