// Responses of the site's functions: JSON, readable from every origin, since access is a matter of what is asked.

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers':
    'authorization, apikey, content-type, x-client-info, x-region, x-supabase-api-version, traceparent, tracestate, baggage',
  'access-control-allow-methods': 'POST, OPTIONS',
}

/** Why a call is refused, in words for whoever reads them on the page. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly retryAfter?: number,
  ) {
    super(message)
  }
}

/** Returns `body` as JSON. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { ...CORS, ...headers } })
}

/** Returns a stream of server-sent events. */
export function events(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: { ...CORS, 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  })
}

/** Serves POST of JSON: `handle` gets the body of at most `limit` bytes; what it throws becomes `{error}`. */
export function servePost(
  limit: number,
  handle: (body: unknown, request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method === 'OPTIONS') return new Response('ok', { headers: CORS })
    try {
      if (request.method !== 'POST') throw new Refusal(405, 'Only POST is answered here.')
      return await handle(await readJson(request, limit), request)
    } catch (error) {
      if (error instanceof Refusal) {
        const headers: Record<string, string> =
          error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) }
        return json({ error: error.message }, error.status, headers)
      }
      console.error(error)
      return json({ error: 'Something went wrong. Please try again later.' }, 500)
    }
  }
}

async function readJson(request: Request, limit: number): Promise<unknown> {
  const bytes = await readBytes(request, limit)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Refusal(400, 'The request is not valid JSON.')
  }
}

/** Reads no more than is allowed, whatever the sender announces. */
async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of request.body ?? []) {
    length += part.length
    if (length > limit) throw new Refusal(413, 'The request is too large.')
    parts.push(part)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/**
 * Returns what tells callers apart for limits: the address that the platform saw, which is the first one noted. Whoever
 * has an IPv6 address has 2^64 of them, so that of these the network counts.
 */
export function callerAddress(request: Request): string {
  const address = request.headers.get('x-forwarded-for')?.split(',')[0]?.trim() || 'unknown'
  if (!address.includes(':')) return address
  // An IPv4-mapped address of IPv6 (RFC 4291, section 2.5.5.2).
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [first = [], last = []] = address
    .split('::')
    .map((groups) => groups.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0')
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}

/** Returns whether the text has the form of a UUID (RFC 9562). */
export function isUuid(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(value)
  )
}
