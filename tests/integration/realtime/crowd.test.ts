/** Ten thousand sockets from one process. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import WebSocket from 'ws'

import type { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { unique } from './stage.ts'

const SOCKETS = 10_000
/** Sockets that are opened at the same time. */
const TOGETHER = 100
/** Bytes of the server's memory that a socket with a channel may cost in an unoptimized build, at most. */
const COST = 24 << 10

describe.skipIf(inject('own') === null)('a crowd', () => {
  let own: Server
  const sockets: WebSocket[] = []
  const received: string[][] = []

  beforeAll(async () => {
    const many = '1000000'
    own = await start({
      TENANT_MAX_CONCURRENT_USERS: many,
      TENANT_MAX_JOINS_PER_SECOND: many,
      TENANT_MAX_EVENTS_PER_SECOND: many,
    })
  })

  afterAll(() => {
    for (const socket of sockets) socket.terminate()
  })

  async function join(room: string) {
    const { url, anonKey } = own.access
    const address = `${url.replace('http', 'ws')}/realtime/v1/websocket?vsn=2.0.0&apikey=${anonKey}`
    const socket = new WebSocket(address, { perMessageDeflate: false })
    await once(socket, 'open')
    const messages: string[] = []
    const joined = once(socket, 'message')
    socket.send(JSON.stringify(['1', '1', `realtime:${room}`, 'phx_join', { config: {} }]))
    const [reply] = (await joined) as [Buffer]
    expect(reply.toString()).toContain('"status":"ok"')
    socket.on('message', (message: Buffer) => messages.push(message.toString()))
    sockets.push(socket)
    received.push(messages)
  }

  async function memory() {
    const status = await readFile(`/proc/${String(own.process.pid)}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
  }

  test('gets every message, and costs little', { timeout: 240_000 }, async () => {
    const room = unique('crowd')
    await join(room)
    const before = await memory()
    while (sockets.length < SOCKETS) {
      const count = Math.min(TOGETHER, SOCKETS - sockets.length)
      await Promise.all(Array.from({ length: count }, () => join(room)))
    }
    expect((await memory()) - before).toBeLessThan(SOCKETS * COST)
    const [sender] = sockets
    for (const n of [1, 2, 3]) {
      const payload = { type: 'broadcast', event: 'e', payload: { n } }
      sender?.send(JSON.stringify(['1', '2', `realtime:${room}`, 'broadcast', payload]))
    }
    // All but the sender.
    const all = () => received.slice(1).filter((messages) => messages.length === 3).length
    await expect.poll(all, { timeout: 60_000, interval: 200 }).toBe(SOCKETS - 1)
    const numbers = new Set(received.slice(1).map((messages) => messages.map(number).join()))
    expect([...numbers]).toEqual(['1,2,3'])
    expect(sockets.every(({ readyState }) => readyState === WebSocket.OPEN)).toBe(true)
  })
})

/** Returns the number in a broadcast. */
function number(message: string) {
  const [, , , , payload] = JSON.parse(message) as [
    null,
    null,
    string,
    string,
    { payload: { n: number } },
  ]
  return payload.payload.n
}
