import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

import type { Server } from './server.mjs'

/** The stock client as pages without a bundler load it. */
const client = path.join(
  path.dirname(createRequire(import.meta.url).resolve('@supabase/supabase-js')),
  'umd/supabase.js',
)

/**
 * A page of another origin than the API, with nothing on it but the stock client: at `/implicit` and at `/pkce`, as
 * the client's flow is called. It says who is signed in; scripts find the client as `window.club`.
 */
export class ClubPage {
  /** The server that the page's client talks to; set before the page is opened. */
  access: Server['access'] = { url: '', anonKey: '', serviceKey: '' }

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    /** The origin; `localhost`, since passkeys want a name. */
    readonly origin: string,
  ) {}

  /** Serves the page on a free port of this machine. */
  static async start(): Promise<ClubPage> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    const { port } = server.address() as AddressInfo
    const page = new ClubPage(server, `http://localhost:${port}`)
    const script = readFileSync(client)
    server.on('request', (request, response) => {
      const { pathname } = new URL(request.url ?? '/', page.origin)
      if (pathname === '/client.js') {
        response.setHeader('Content-Type', 'text/javascript').end(script)
      } else {
        const flow = pathname.slice(1)
        response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page.html(flow))
      }
    })
    return page
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private html(flowType: string): string {
    const { url, anonKey } = this.access
    const [place, key, auth] = [url, anonKey, { flowType }].map((value) => JSON.stringify(value))
    return `<!doctype html>
      <title>Club</title>
      <p role="status"></p>
      <ol aria-label="Events"></ol>
      <script src="/client.js"></script>
      <script>
        window.club = supabase.createClient(${String(place)}, ${String(key)}, { auth: ${String(auth)} })
        club.auth.onAuthStateChange((event, session) => {
          document.querySelector('ol').append(Object.assign(document.createElement('li'), { textContent: event }))
          document.querySelector('[role=status]').textContent =
            session ? 'Signed in as ' + session.user.email : 'Signed out'
        })
      </script>`
  }
}
