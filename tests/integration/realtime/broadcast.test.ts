/** Broadcasts of clients, over sockets and HTTP. */
import { randomUUID } from 'node:crypto'

import { REALTIME_SUBSCRIBE_STATES, type RealtimeChannel } from '@supabase/supabase-js'
import { afterEach, describe, expect, inject, test } from 'vitest'

import type { Client } from '../../support/client.ts'
import { visitor } from '../clients.ts'
import { post, unique, Wires } from './stage.ts'

const wires = new Wires()
const clients: Client[] = []
afterEach(async () => {
  wires.close()
  await Promise.all(clients.splice(0).map((client) => client.realtime.disconnect()))
})

function client(): Client {
  const created = visitor()
  clients.push(created)
  return created
}

/** Resolves once the channel is joined. */
function subscribed(channel: RealtimeChannel): Promise<RealtimeChannel> {
  return new Promise((resolve, reject) => {
    channel.subscribe((status, error) => {
      if (status === REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) resolve(channel)
      else reject(error ?? new Error(status))
    })
  })
}

interface Broadcast {
  type: string
  event: string
  payload?: unknown
  meta?: unknown
}

/** Joins a channel with a client of its own, and keeps what it hears. */
async function listener(name: string, config = {}) {
  const deliveries: Broadcast[] = []
  const channel = client().channel(name, { config })
  channel.on('broadcast', { event: '*' }, (message) => deliveries.push(message as Broadcast))
  return { channel: await subscribed(channel), heard: deliveries }
}

const broadcastOf = (event: string, payload: unknown) => ({ type: 'broadcast', event, payload })

describe('the stock client', () => {
  test('gets a thousand messages of each sender in their order', async () => {
    const name = unique('room')
    const [one, two, three] = [await listener(name), await listener(name), await listener(name)]
    for (let number = 0; number < 1000; number++)
      for (const [who, { channel }] of [one, two].entries())
        void channel.send({ type: 'broadcast', event: String(who), payload: { number } })
    const numbers = Array.from({ length: 1000 }, (_, number) => ({ number }))
    const from = (who: string) => three.heard.filter(({ event }) => event === who)
    await expect.poll(() => three.heard.length, { timeout: 30_000 }).toBe(2000)
    for (const who of ['0', '1']) expect(from(who).map(({ payload }) => payload)).toEqual(numbers)
    await expect
      .poll(() => one.heard.map(({ payload }) => payload), { timeout: 30_000 })
      .toEqual(numbers)
  })
})

describe('a message', () => {
  test.for<[unknown]>([
    [{ event: 'x', type: 'other', payload: 1, more: [true] }],
    [{ payload: {} }],
    [{}],
    [[]],
    ['text'],
    [17],
    [null],
    [{ type: 'broadcast', event: 'x', payload: 'ü\u0000☃', deep: [[[[{}]]]] }],
  ])('in text passes as %j', async ([payload]) => {
    const name = unique('room')
    const [one, two] = [await wires.add(), await wires.add()]
    await one.mustJoin(name, { broadcast: { ack: true } })
    await two.mustJoin(name)
    const ref = one.send(`realtime:${name}`, 'broadcast', payload)
    expect(await one.reply(ref)).toEqual({ status: 'ok', response: {} })
    expect(await two.event(name, 'broadcast')).toMatchObject({ joinRef: null, ref: null, payload })
  })

  test('keeps numbers that JavaScript cannot count to', async () => {
    const name = unique('room')
    const [one, two] = [await wires.add(), await wires.add()]
    for (const wire of [one, two]) await wire.mustJoin(name)
    const numbers = '[9007199254740993,1e400,0.10000000000000000000001]'
    one.socket.send(
      `[null,"1","realtime:${name}","broadcast",{"type":"broadcast","event":"n","payload":${numbers}}]`,
    )
    expect((await two.event(name, 'broadcast')).raw.toString()).toContain(numbers)
  })

  test.for(['text', 'binary'] as const)('that is too large is refused, as %s', async (form) => {
    const name = unique('room')
    const [one, quiet, two] = [await wires.add(), await wires.add(), await wires.add()]
    await one.mustJoin(name, { broadcast: { ack: true } })
    for (const wire of [quiet, two]) await wire.mustJoin(name)
    const send = (wire: typeof one, event: string, size: number) => {
      const payload = { text: 'x'.repeat(size) }
      return form === 'text'
        ? wire.broadcast(name, event, payload)
        : wire.binary(name, event, payload)
    }
    expect(await one.reply(send(one, 'large', 3_100_000))).toMatchObject({ status: 'error' })
    send(quiet, 'large', 3_100_000)
    expect(await one.reply(send(one, 'fits', 2_900_000))).toEqual({ status: 'ok', response: {} })
    if (form === 'text') await two.receiveBroadcast(name, 'fits')
    else await two.receiveBinaryBroadcast(name, 'fits')
    await quiet.flush()
    expect(two.received).toEqual([])
    for (const { received } of [one, quiet])
      expect(received.filter(({ event }) => event === 'phx_close')).toEqual([])
  })
})

describe('over HTTP', () => {
  const { anonKey } = inject('access')

  const batch = (messages: unknown, headers?: Record<string, string>) =>
    post('broadcast', JSON.stringify({ messages }), headers)

  /** Sockets of both versions on a topic of a new name. */
  async function room() {
    const name = unique('room: a/b')
    const [young, old] = [await wires.add(), await wires.add({ vsn: '1.0.0' })]
    for (const wire of [young, old]) await wire.mustJoin(name)
    return { name, young, old }
  }

  test('several messages go to their topics', async () => {
    const [one, two] = [await room(), await room()]
    const id = randomUUID()
    const response = await batch([
      { topic: one.name, event: 'a', payload: { n: 1 } },
      { topic: two.name, event: 'b', payload: { n: 2 }, private: false },
      { topic: one.name, event: 'c', payload: { n: 3 }, id },
    ])
    expect(response.status).toBe(202)
    expect(await response.text()).toBe('')
    for (const wire of [one.young, one.old]) {
      expect(await wire.receiveBroadcast(one.name, 'a')).toEqual(broadcastOf('a', { n: 1 }))
      expect(await wire.receiveBroadcast(one.name, 'c')).toEqual({
        ...broadcastOf('c', { n: 3 }),
        meta: { id },
      })
    }
    expect(await two.young.receiveBroadcast(two.name, 'b')).toEqual(broadcastOf('b', { n: 2 }))
    expect(one.young.received).toEqual([])
  })

  test.for<[string, unknown, object]>([
    ['no list', { a: 1 }, { messages: ["can't be blank"] }],
    [
      'no payload',
      { messages: [{ topic: 'a', event: 'b' }] },
      { messages: [{ payload: ["can't be blank"] }] },
    ],
    [
      'nothing in the second message',
      { messages: [{ topic: 'a', event: 'b', payload: {} }, {}] },
      {
        messages: [
          {},
          { topic: ["can't be blank"], event: ["can't be blank"], payload: ["can't be blank"] },
        ],
      },
    ],
    [
      'a topic that is a number',
      { messages: [{ topic: 1, event: 'b', payload: {} }] },
      { messages: [{ topic: ['is invalid'] }] },
    ],
    [
      'a payload that is text',
      { messages: [{ topic: 'a', event: 'b', payload: 'c' }] },
      { messages: [{ payload: ['is invalid'] }] },
    ],
    [
      'a privacy that is a word',
      { messages: [{ topic: 'a', event: 'b', payload: {}, private: 'c' }] },
      { messages: [{ private: ['is invalid'] }] },
    ],
    [
      'a payload that is too large',
      { messages: [{ topic: 'a', event: 'b', payload: { text: 'x'.repeat(3_100_000) } }] },
      { messages: [{ payload: ['Payload size exceeds tenant limit'] }] },
    ],
  ])('a batch with %s is refused', async ([, body, errors]) => {
    const response = await post('broadcast', JSON.stringify(body))
    expect(response.status).toBe(422)
    expect(await response.json()).toEqual({ errors })
  })

  test('a single message is its payload', async () => {
    const { name, young, old } = await room()
    const path = `broadcast/${encodeURIComponent(name)}/events/${encodeURIComponent('an event/ü')}`
    for (const payload of [{ n: 1 }, [1], 'text', 5, null]) {
      const response = await post(path, JSON.stringify(payload))
      expect(response.status).toBe(202)
      expect(await response.text()).toBe('')
      const frame = await young.receiveBinaryBroadcast(name, 'an event/ü')
      expect(frame).toMatchObject({ payload, metadata: '' })
      expect(await old.receiveBroadcast(name, 'an event/ü')).toEqual(
        broadcastOf('an event/ü', payload),
      )
    }
    const bytes = Buffer.from([0, 255, 7])
    const octets = { 'content-type': 'application/octet-stream' }
    expect((await post(path, bytes, octets)).status).toBe(202)
    expect(await young.receiveBinaryBroadcast(name, 'an event/ü')).toMatchObject({ payload: bytes })
    await old.flush()
    expect(old.received).toEqual([])
  })

  test('a single message has a type, if any', async () => {
    const path = `broadcast/${unique('room')}/events/shout`
    const refusal = await post(path, 'text', { 'content-type': 'text/plain' })
    expect(refusal.status).toBe(415)
    expect(await refusal.json()).toEqual({
      error: 'Unsupported Media Type. Use application/json or application/octet-stream',
    })
    const plain = await fetch(`${inject('access').url}/realtime/v1/api/${path}`, {
      method: 'POST',
      headers: { apikey: anonKey },
      // A view of bytes has no type of its own.
      body: Buffer.from('{}'),
    })
    expect(plain.status).toBe(202)
    const charset = { 'content-type': 'application/json; charset=utf-8' }
    expect((await post(path, '{}', charset)).status).toBe(202)
  })

  test('a single message may be too large', async () => {
    const path = `broadcast/${unique('room')}/events/shout`
    const large = JSON.stringify('x'.repeat(3_100_000))
    expect((await post(path, large)).status).toBe(422)
    const octets = { 'content-type': 'application/octet-stream' }
    expect((await post(path, Buffer.alloc(3_100_000), octets)).status).toBe(422)
  })
})
