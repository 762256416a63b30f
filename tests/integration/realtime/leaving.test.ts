/** Clients that do not do what clients should: they are cut off, or do not read. */
import { readFile } from 'node:fs/promises'

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { isOwn, unique, Wires } from './stage.ts'
import type { Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

/** A megabyte, in bytes. */
const MEGABYTE = 1_000_000

test('a crowd that is cut off is gone', async () => {
  const name = unique('room')
  const witness = await wires.add()
  await witness.mustJoin(name, { presence: { enabled: true } })
  const crowd: Wire[] = []
  for (let count = 0; count < 40; count++) {
    const wire = await wires.add({ vsn: count % 2 === 0 ? '1.0.0' : '2.0.0' })
    const key = `guest ${count}`
    await wire.mustJoin(name, { presence: { enabled: true, key } })
    const track = { type: 'presence', event: 'track', payload: { count } }
    await wire.reply(wire.send(`realtime:${name}`, 'presence', track))
    crowd.push(wire)
  }
  const keys = (of: 'joins' | 'leaves') => () =>
    witness.received
      .filter(({ event }) => event === 'presence_diff')
      .flatMap(({ payload }) => Object.keys((payload as Record<typeof of, object>)[of]))
  await expect.poll(keys('joins')).toHaveLength(40)
  for (const [index, wire] of crowd.entries()) {
    // Some are in the middle of a message.
    if (index % 3 === 0) wire.socket.send('["half', { fin: false, binary: false })
    wire.cut()
  }
  await expect.poll(keys('leaves')).toHaveLength(40)
  expect(new Set(keys('leaves')()).size).toBe(40)
})

describe.skipIf(!isOwn)('a client that does not read', () => {
  let own: Server
  beforeAll(async () => {
    own = await start({ TENANT_MAX_EVENTS_PER_SECOND: '1000000' })
  })

  /** Returns bytes of memory that the server has, and the most that it has had. */
  async function memory() {
    const status = await readFile(`/proc/${String(own.process.pid)}/status`, 'utf8')
    const of = (name: string) =>
      1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
    return { now: of('VmRSS'), most: of('VmHWM') }
  }

  test('is dropped, at no cost to others', async () => {
    const { url, anonKey } = own.access
    const open = () => wires.add({ url, key: anonKey })
    const name = unique('room')
    const [sender, reader, witness] = [await open(), await open(), await open()]
    const idle: Wire[] = []
    await sender.mustJoin(name, { broadcast: { ack: true } })
    await reader.mustJoin(name)
    const there = unique('there')
    await witness.mustJoin(there, { presence: { enabled: true } })
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      const wire = await open()
      await wire.mustJoin(there, { presence: { enabled: true, key } })
      const track = { type: 'presence', event: 'track', payload: {} }
      await wire.reply(wire.send(`realtime:${there}`, 'presence', track))
      await wire.mustJoin(name)
      await wire.flush()
      wire.socket.pause()
      idle.push(wire)
    }
    const before = await memory()
    const content = Buffer.alloc(MEGABYTE / 2, 'x')
    for (let count = 0; count < 240; count++) {
      await sender.reply(sender.binary(name, 'block', content))
      const frame = await reader.receiveBinaryBroadcast(name, 'block')
      expect((frame.payload as Buffer).length).toBe(content.length)
    }
    const isLeave = (key: string) => () =>
      witness.received.some(
        ({ event, payload }) =>
          event === 'presence_diff' && key in (payload as { leaves: object }).leaves,
      )
    for (const key of ['a', 'b', 'c', 'd', 'e']) await expect.poll(isLeave(key)).toBe(true)
    // Five times 120 MB were to be sent.
    const after = await memory()
    expect(after.most - before.now).toBeLessThan(150 * MEGABYTE)
    for (const wire of idle) {
      wire.socket.resume()
      await vi.waitFor(() => expect(wire.closed).not.toBeNull(), 20_000)
    }
    await sender.flush()
    expect(reader.closed).toBeNull()
  })
})
