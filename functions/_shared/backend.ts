// The project's own API, without a client library: these functions start in milliseconds and need no registry.

const TIMEOUT = 10_000

function required(name: string): string {
  const value = Deno.env.get(name)
  if (!value) throw new Error(`${name} is not set`)
  return value
}

/** Where the project's API is. */
const projectUrl = required('SUPABASE_URL')
const anonKey = required('SUPABASE_ANON_KEY')
const serviceKey = required('SUPABASE_SERVICE_ROLE_KEY')

/** Sends a request to REST as `key`'s role. Throws with the database's message if it does not succeed. */
async function request<T>(key: string, target: string, body?: object): Promise<T> {
  const response = await fetch(`${projectUrl}/rest/v1/${target}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { apikey: key, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT),
  })
  const text = await response.text()
  if (!response.ok) throw new DatabaseError(target.replace(/\?.*/, ''), response.status, text)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

/** What the database refused. */
export class DatabaseError extends Error {
  /** The SQLSTATE, if the response has one. */
  readonly code: string | undefined

  constructor(name: string, status: number, text: string) {
    const { code, message } = problem(text)
    super(`${name} got ${status}: ${code ?? ''} ${message.slice(0, 500)}`)
    this.code = code
  }
}

/**
 * Returns what a response says was wrong. Its details are left out: they may hold the row, and messages go to the log.
 */
function problem(text: string): { code?: string; message: string } {
  try {
    const { code, message } = JSON.parse(text) as { code?: string; message?: string }
    return { code, message: message ?? '' }
  } catch {
    return { message: text }
  }
}

/** Calls a function of the database with all rights. */
export function callAsService<T>(name: string, parameters: Record<string, unknown>): Promise<T> {
  return request<T>(serviceKey, `rpc/${name}`, parameters)
}

/** Calls a function of the database with a visitor's rights. */
export function callAsVisitor<T>(name: string, parameters: Record<string, unknown>): Promise<T> {
  return request<T>(anonKey, `rpc/${name}`, parameters)
}

/** Reads rows of a table with a visitor's rights. `query` is PostgREST's. */
export function readAsVisitor<T>(table: string, query: string): Promise<T[]> {
  return request<T[]>(anonKey, `${table}?${query}`)
}

/** Returns whether the request comes with the service key. */
export function isService(request: Request): boolean {
  return request.headers.get('authorization') === `Bearer ${serviceKey}`
}

/**
 * Returns the signed-in user whose token the request carries; `null` for visitors and for tokens that are not valid.
 */
export async function signedInUser(request: Request): Promise<string | null> {
  const authorization = request.headers.get('authorization')
  if (!authorization || authorization === `Bearer ${anonKey}`) return null
  const response = await fetch(`${projectUrl}/auth/v1/user`, {
    headers: { apikey: anonKey, authorization },
    signal: AbortSignal.timeout(TIMEOUT),
  })
  if (!response.ok) {
    await response.body?.cancel()
    return null
  }
  const { id } = (await response.json()) as { id?: string }
  return id ?? null
}
