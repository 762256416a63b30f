// What the runtime gives to functions; which part is said by the path behind the function's name.
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'

import { word as mapped } from 'words'

import { word as relative } from './words.ts'

declare const EdgeRuntime: { waitUntil<T>(promise: Promise<T>): Promise<T> }

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const variable = (name: string) => Deno.env.get(name) ?? ''

/** Calls REST, as the caller or with a key of the environment. */
function rest(path: string, authorization: string, key: string, init: RequestInit = {}) {
  return fetch(`${variable('SUPABASE_URL')}/rest/v1/${path}`, {
    ...init,
    headers: { apikey: key, authorization, 'content-type': 'application/json' },
  })
}

const encoder = new TextEncoder()

/** Returns a response whose parts come one after the other. */
function parts(type: string, texts: string[]): Response {
  const body = new ReadableStream({
    async start(controller) {
      for (const text of texts) {
        controller.enqueue(encoder.encode(text))
        await pause(100)
      }
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': type } })
}

const pages: Record<string, (request: Request, url: URL) => Response | Promise<Response>> = {
  variables: () => {
    // No value that is a secret leaves the function.
    const isThere = (name: string) => variable(name) !== ''
    return Response.json({
      url: /^https?:\/\//.test(variable('SUPABASE_URL')),
      database: /^postgres(ql)?:\/\//.test(variable('SUPABASE_DB_URL')),
      anon: isThere('SUPABASE_ANON_KEY'),
      service: isThere('SUPABASE_SERVICE_ROLE_KEY'),
      publishable: JSON.parse(variable('SUPABASE_PUBLISHABLE_KEYS') || '{}').default ?? null,
    })
  },
  // The rows that a role sees: of the caller, of the anonymous key, or of the service key.
  roles: async (request, url) => {
    const keys: Record<string, string> = {
      anon: variable('SUPABASE_ANON_KEY'),
      service: variable('SUPABASE_SERVICE_ROLE_KEY'),
    }
    const key = keys[url.searchParams.get('as') ?? '']
    const caller = request.headers.get('authorization') ?? ''
    const path = 'conformance_roles?select=body&order=id'
    const response = await rest(
      path,
      key ? `Bearer ${key}` : caller,
      key ?? variable('SUPABASE_ANON_KEY'),
    )
    return Response.json(await response.json(), { status: response.status })
  },
  // Goes on after its response: a note is written.
  background: (request, url) => {
    const caller = request.headers.get('authorization') ?? ''
    const note = async () => {
      await pause(300)
      const body = JSON.stringify({ key: url.searchParams.get('key'), body: 'written later' })
      const init = { method: 'POST', body }
      const response = await rest('conformance_notes', caller, variable('SUPABASE_ANON_KEY'), init)
      await response.body?.cancel()
    }
    EdgeRuntime.waitUntil(note())
    return new Response('accepted', { status: 202 })
  },
  imports: () =>
    Response.json({
      mapped,
      relative,
      buffer: Buffer.from('node').toString('hex'),
      hash: createHash('sha256').update('node').digest('hex'),
    }),
  file: async (request) => {
    const path = `/tmp/${crypto.randomUUID()}`
    await Deno.writeTextFile(path, await request.text())
    const text = await Deno.readTextFile(path)
    await Deno.remove(path)
    return new Response(text)
  },
  stream: () => parts('text/plain', ['one ', 'two ', 'three']),
  events: () => parts('text/event-stream', ['data: one\n\n', 'event: end\ndata: two\n\n']),
  form: () => {
    const form = new FormData()
    form.append('word', 'hello')
    form.append('file', new Blob(['in a file']), 'note.txt')
    return new Response(form)
  },
  redirect: (_request, url) => Response.redirect(url.searchParams.get('to') ?? '', 303),
  cookies: () => {
    const headers = new Headers({ 'content-type': 'text/plain' })
    headers.append('set-cookie', 'one=1; Path=/')
    headers.append('set-cookie', 'two=2; Path=/')
    return new Response('cookies', { headers })
  },
  throws: () => {
    throw new Error('thrown on purpose')
  },
  rejects: async () => {
    await pause(1)
    throw new Error('rejected on purpose')
  },
  slow: async (request) => {
    const text = await request.text()
    await pause(100)
    return new Response(text)
  },
  // A socket that only those reach whose token is valid.
  socket: (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request)
    socket.onmessage = ({ data }) => socket.send(data)
    return response
  },
}

Deno.serve((request) => {
  const url = new URL(request.url)
  const page = pages[url.pathname.split('/').at(2) ?? '']
  return page ? page(request, url) : new Response('no such page', { status: 404 })
})
