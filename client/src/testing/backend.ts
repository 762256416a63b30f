import { vi } from 'vitest'

import type { Database } from '@/lib/supabase/database.types'

type Tables = Database['public']['Tables']

/** What a table responds with: its rows, or a failure. */
type TableResponse = readonly object[] | 'failure'

/** The requests to the backend: method, table and query of each. */
interface RecordedRequest {
  method: string
  table: string
  query: URLSearchParams
  body: unknown
}

function json(body: unknown, status: number) {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json' },
  })
}

function respondToRead(rows: readonly object[], request: Request) {
  const isSingle = request.headers.get('accept')?.includes('vnd.pgrst.object')
  if (!isSingle) return json(rows, 200)
  return rows.length === 1
    ? json(rows[0], 200)
    : json({ code: 'PGRST116', message: 'not one row', details: null, hint: null }, 406)
}

/** Responds to requests that are not for a table; called with the request's body. */
type Handler = (body: unknown) => Response | Promise<Response>

/** By the last part of the path: a function's name, an RPC's, `token` or `logout` of auth. */
type Handlers = Record<string, Handler>

export { json as jsonResponse }

/**
 * Stands in for the backend behind `fetch`, so that the real client runs. Tables that are not named are
 * empty. Returns the requests.
 */
export function stubBackend(
  tables: Partial<Record<keyof Tables, TableResponse>> = {},
  others: Handlers = {},
) {
  const requests: RecordedRequest[] = []
  vi.stubGlobal('fetch', async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    const table = url.pathname.split('/').at(-1) ?? ''
    const text = request.method === 'GET' ? '' : await request.text()
    const body: unknown = text === '' ? null : JSON.parse(text)
    requests.push({ method: request.method, table, query: url.searchParams, body })
    const other = others[table]
    if (other) return other(body)
    if (request.method !== 'GET') return new Response(null, { status: 201 })
    const response = tables[table as keyof Tables] ?? []
    return response === 'failure'
      ? json({ code: 'XX000', message: 'failed', details: null, hint: null }, 500)
      : respondToRead(response, request)
  })
  return requests
}
