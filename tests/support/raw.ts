import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

export const run = promisify(execFile)

/** Returns the head of an HTTP/1.1 request to `url`, with the empty line at its end. */
export function head(method: string, url: string, headers: Record<string, string> = {}): string {
  const { host, pathname, search } = new URL(url)
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/**
 * Opens a connection to the server of `url`; it stays open for reading when its writing side is closed, and the
 * reverse.
 */
export async function dial(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  await once(socket, 'connect')
  return socket
}

/** Writes all of `data`; returns when the system has taken it. */
export function write(socket: Socket, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(data, (error) => {
      if (error) reject(error)
      else resolve()
    })
  })
}

/**
 * Sends `data` over a connection of its own, closes the writing side, and only then reads what comes until the server
 * closes its side, too.
 */
export async function exchange(url: string, data: (string | Uint8Array)[]): Promise<string> {
  const socket = await dial(url)
  socket.pause()
  for (const piece of data) await write(socket, piece)
  socket.end()
  const response = await text(socket)
  socket.destroy()
  return response
}
