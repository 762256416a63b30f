/** Servers with HTTPS, and what a client sees of them. */
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import tls from 'node:tls'

import { freePort } from '../../bench/lib/ports.mjs'
import { Server } from './server.mjs'

/** How long something that the server does by itself may take, such as another order after one that failed. */
export const patience = { timeout: 100_000, interval: 100 }

/** The ports of HTTPS and of its redirects. */
export interface Ports {
  https: number
  http: number
}

/** Finds two. */
export const freePorts = async (): Promise<Ports> => ({
  https: await freePort(),
  http: await freePort(),
})

/** Starts a server with HTTPS. */
export const serve = (
  ports: Ports,
  env: Record<string, string>,
  more: { dataDir?: string; entering?: string[]; project?: string } = {},
) =>
  Server.start({
    ...more,
    keepsLog: true,
    env: {
      BASALT_TLS_HOST: '127.0.0.1',
      BASALT_TLS_PORT: String(ports.https),
      BASALT_TLS_HTTP_PORT: String(ports.http),
      ...env,
    },
  })

/** Asks for `url` on a connection of its own. */
export async function get(url: string, options: https.RequestOptions = {}) {
  const request = (url.startsWith('https') ? https : http).get(url, { agent: false, ...options })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.resume()
  return response
}

/** Returns the serial number of the certificate at `port`, whoever has signed it; `null` without one. */
export async function serial(port: number, servername = 'localhost') {
  const socket = tls.connect({
    port,
    host: '127.0.0.1',
    servername,
    rejectUnauthorized: false,
  })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerCertificate().serialNumber
  } catch {
    return null
  } finally {
    socket.destroy()
  }
}
