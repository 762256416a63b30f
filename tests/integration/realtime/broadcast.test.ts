/** Broadcasts of clients, over sockets and HTTP. */
import { randomUUID } from 'node:crypto'

import { REALTIME_SUBSCRIBE_STATES, type RealtimeChannel } from '@supabase/supabase-js'
import { afterEach, describe, expect, inject, test } from 'vitest'

import type { Client } from '../../support/client.ts'
import { visitor } from '../clients.ts'
import { moment, post, unique, Wires } from './stage.ts'

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
  test('is heard by all others, and not by itself', async () => {
    const name = unique('room')
    const [one, two, three] = [await listener(name), await listener(name), await listener(name)]
    const elsewhere = await listener(unique('room'))
    const send = { ...broadcastOf('shout', { a: [1, 'ü', null] }) } as const
    expect(await one.channel.send({ ...send, type: 'broadcast' })).toBe('ok')
    for (const { heard: deliveries } of [two, three])
      await expect.poll(() => deliveries).toEqual([broadcastOf('shout', { a: [1, 'ü', null] })])
    await moment()
    expect(one.heard).toEqual([])
    expect(elsewhere.heard).toEqual([])
  })

  test('hears itself if it wants to, and is told that it was heard', async () => {
    const name = unique('room')
    const one = await listener(name, { broadcast: { self: true, ack: true } })
    const sent = await one.channel.send({ type: 'broadcast', event: 'echo', payload: { n: 1 } })
    expect(sent).toBe('ok')
    await expect.poll(() => one.heard).toEqual([broadcastOf('echo', { n: 1 })])
  })

  test('hears only the events that it listens to', async () => {
    const name = unique('room')
    const [sender, deliveries] = [await listener(name), [] as unknown[]]
    const channel = client().channel(name)
    channel.on('broadcast', { event: 'b' }, ({ payload }) => deliveries.push(payload))
    await subscribed(channel)
    for (const event of ['a', 'b', 'c'])
      await sender.channel.send({ type: 'broadcast', event, payload: { event } })
    await expect.poll(() => deliveries).toEqual([{ event: 'b' }])
  })

  test('sends bytes', async () => {
    const name = unique('room')
    const [one, two] = [await listener(name), await listener(name)]
    const payload = new Uint8Array([0, 255, 128, 10]).buffer
    await one.channel.send({ type: 'broadcast', event: 'bytes', payload })
    await expect.poll(() => two.heard.length).toBe(1)
    expect(new Uint8Array(two.heard[0]?.payload as ArrayBuffer)).toEqual(new Uint8Array(payload))
  })

  test('gets a thousand messages of each sender in their order', { timeout: 60_000 }, async () => {
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

  test('sends over HTTP before it has joined', async () => {
    const name = unique('room')
    const one = await listener(name)
    const channel = client().channel(name)
    expect(await channel.httpSend('single', { n: 1 })).toEqual({ success: true })
    const bytes = new Uint8Array([1, 2, 3]).buffer
    expect(await channel.httpSend('bytes', bytes)).toEqual({ success: true })
    expect(await channel.send({ type: 'broadcast', event: 'batch', payload: { n: 2 } })).toBe('ok')
    await expect.poll(() => one.heard.length).toBe(3)
    const [single, second, batch] = one.heard
    expect(single).toEqual(broadcastOf('single', { n: 1 }))
    expect(new Uint8Array(second?.payload as ArrayBuffer)).toEqual(new Uint8Array(bytes))
    expect(batch).toEqual(broadcastOf('batch', { n: 2 }))
  })

  test('hears nothing any more after it has left', async () => {
    const name = unique('room')
    const [one, two, three] = [await listener(name), await listener(name), await listener(name)]
    expect(await two.channel.unsubscribe()).toBe('ok')
    await one.channel.send({ type: 'broadcast', event: 'later', payload: {} })
    await expect.poll(() => three.heard.length).toBe(1)
    await moment()
    expect(two.heard).toEqual([])
  })
})

describe('a message', () => {
  test('is heard by clients of both versions, whoever sent it', async () => {
    const name = unique('room')
    const [v1, v2] = [await wires.add({ vsn: '1.0.0' }), await wires.add()]
    const [old, young] = [await wires.add({ vsn: '1.0.0' }), await wires.add()]
    for (const wire of [v1, v2, old, young]) await wire.mustJoin(name)
    v1.broadcast(name, 'from-v1', { n: 1 })
    expect(await old.receiveBroadcast(name, 'from-v1')).toEqual(broadcastOf('from-v1', { n: 1 }))
    expect(await young.receiveBroadcast(name, 'from-v1')).toEqual(broadcastOf('from-v1', { n: 1 }))
    v2.broadcast(name, 'text-v2', { n: 2 })
    expect(await old.receiveBroadcast(name, 'text-v2')).toEqual(broadcastOf('text-v2', { n: 2 }))
    expect(await young.receiveBroadcast(name, 'text-v2')).toEqual(broadcastOf('text-v2', { n: 2 }))
    v2.binary(name, 'from-v2', { n: 3 })
    expect(await old.receiveBroadcast(name, 'from-v2')).toEqual(broadcastOf('from-v2', { n: 3 }))
    expect((await young.receiveBinaryBroadcast(name, 'from-v2')).payload).toEqual({ n: 3 })
  })

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

  test('reaches other channels of the same user', async () => {
    const name = unique('room')
    const [one, two] = [await wires.add(), await wires.add()]
    await one.mustJoin(name)
    await two.mustJoin(name, { broadcast: { self: true } })
    one.broadcast(name, 'a', {})
    two.broadcast(name, 'b', {})
    await two.receiveBroadcast(name, 'a')
    await two.receiveBroadcast(name, 'b')
    await one.receiveBroadcast(name, 'b')
    await one.flush()
    expect(one.received).toEqual([])
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
    const answer = await batch([
      { topic: one.name, event: 'a', payload: { n: 1 } },
      { topic: two.name, event: 'b', payload: { n: 2 }, private: false },
      { topic: one.name, event: 'c', payload: { n: 3 }, id },
    ])
    expect(answer.status).toBe(202)
    expect(await answer.text()).toBe('')
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

  test('answers tell of the limit', async () => {
    const { headers } = await batch([{ topic: 'limits', event: 'a', payload: {} }])
    for (const name of ['x-rate-rolling', 'x-rate-limit', 'x-rate-limit-remaining'])
      expect(Number(headers.get(name)), name).toBeGreaterThanOrEqual(0)
    expect(headers.get('x-rate-limit')).not.toBeNull()
  })

  test('the token is the header’s for authorization, or else the key', async () => {
    const message = [{ topic: 'tokens', event: 'a', payload: {} }]
    const authorization = `Bearer ${anonKey}`
    expect((await batch(message, { authorization })).status).toBe(202)
    expect((await batch(message)).status).toBe(202)
    for (const path of ['broadcast', 'broadcast/room/events/shout']) {
      const body = JSON.stringify({ messages: message })
      const refusal = await post(path, body, { authorization: 'Bearer rubbish' })
      expect(refusal.status).toBe(401)
      expect(await refusal.json()).toEqual({ message: 'Unauthorized' })
    }
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
    const answer = await post('broadcast', JSON.stringify(body))
    expect(answer.status).toBe(422)
    expect(await answer.json()).toEqual({ errors })
  })

  test('nothing of a refused batch is sent', async () => {
    const { name, young } = await room()
    const answer = await batch([{ topic: name, event: 'a', payload: {} }, { topic: name }])
    expect(answer.status).toBe(422)
    expect((await batch([{ topic: name, event: 'b', payload: {} }])).status).toBe(202)
    await young.receiveBroadcast(name, 'b')
    expect(young.received).toEqual([])
  })

  test('a single message is its payload', async () => {
    const { name, young, old } = await room()
    const path = `broadcast/${encodeURIComponent(name)}/events/${encodeURIComponent('an event/ü')}`
    for (const payload of [{ n: 1 }, [1], 'text', 5, null]) {
      const answer = await post(path, JSON.stringify(payload))
      expect(answer.status).toBe(202)
      expect(await answer.text()).toBe('')
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
