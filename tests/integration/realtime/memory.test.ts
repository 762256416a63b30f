/** What clients make the server keep has a bound for all of them together. */
import { once } from 'node:events'

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { isOwn, unique, Wires } from './stage.ts'

const wires = new Wires()
afterEach(() => wires.close())

/** More than half of the server's memory for clients. */
const LARGE = 'x'.repeat(600_000)
const joined = { status: 'ok', response: { postgres_changes: [] } }

describe.skipIf(!isOwn)('there is memory for', () => {
  let own: Server
  beforeAll(async () => {
    own = await start({}, '[basalt.realtime]\nmemory = "1MB"\n')
  })
  const open = () => wires.add({ url: own.access.url, key: own.access.anonKey })

  test('so many messages that have not arrived whole, of clients that have joined nothing', async () => {
    const [first, second] = [await open(), await open()]
    first.socket.send(`["${LARGE}`, { fin: false, binary: false })
    first.socket.ping()
    await once(first.socket, 'pong')
    second.socket.send(`["${LARGE}`, { fin: false, binary: false })
    expect(await second.closeCode()).toBe(1013)
    first.cut()
    // What the first one has sent is forgotten.
    await vi.waitFor(async () => {
      const [third, name] = [await open(), unique('room')]
      await third.mustJoin(name, { broadcast: { ack: true } })
      await third.reply(third.broadcast(name, 'large', LARGE), 5000)
    }, 20_000)
  })

  test('so much presence', async () => {
    // A presence takes its memory twice while its message is handled.
    const payload = { text: 'x'.repeat(300_000) }
    const track = { type: 'presence', event: 'track', payload }
    const enter = async (name: string) => {
      const wire = await open()
      await wire.mustJoin(name, { presence: { enabled: true } })
      return { wire, ref: wire.send(`realtime:${name}`, 'presence', track) }
    }
    for (const name of ['one', 'two']) {
      const { wire, ref } = await enter(name)
      expect(await wire.reply(ref)).toMatchObject({ status: 'ok' })
    }
    const refused = await enter('three')
    expect(await refused.wire.system('three')).toMatchObject({
      message: 'Track message size exceeded',
    })
    wires.close()
    await vi.waitFor(async () => {
      const { wire, ref } = await enter('three')
      await wire.reply(ref, 5000)
    }, 20_000)
  })

  test('so many large joins', async () => {
    const wire = await open()
    const join = (count: number) =>
      wire.join(`room ${String(count)}`, { unused: 'x'.repeat(120_000) })
    const replies = []
    for (let count = 0; count < 10; count++) replies.push(await join(count))
    const reason = 'ConnectionRateLimitReached: Too many large joins'
    expect(replies[0]).toEqual(joined)
    expect(replies.at(-1)).toEqual({ status: 'error', response: { reason } })
    await wire.reply(wire.send('realtime:room 0', 'phx_leave', {}))
    expect(await join(11)).toEqual(joined)
  })
})
