/** What is sent on a socket, well-formed or not, and the life of its channels. */
import { afterEach, describe, expect, test } from 'vitest'

import { unique, Wires } from './stage.ts'
import {
  binaryFrame,
  BROADCAST,
  BYTES,
  JSON_TEXT,
  PUSH,
  USER_BROADCAST,
  USER_BROADCAST_PUSH,
  VERSIONS,
} from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const ok = { status: 'ok', response: {} }
const joined = { status: 'ok', response: { postgres_changes: [] } }
const unmatched = { status: 'error', response: { reason: 'unmatched topic' } }

describe.for(VERSIONS)('a socket of version %s', (vsn) => {
  const open = () => wires.add({ vsn })

  test('gets the references that it sent', async () => {
    const wire = await open()
    const topic = `realtime:${unique('room')}`
    for (const ref of ['7', 'a reference', 12]) {
      const sent = { ref: ref as string, joinRef: 'join' }
      wire.send(topic, 'phx_join', { config: {} }, sent)
      const frame = await wire.take(({ ref: frameRef }) => frameRef === ref, 'reply')
      expect(frame).toMatchObject({ topic, event: 'phx_reply', payload: joined })
      if (vsn === '2.0.0') expect(frame.joinRef).toBe('join')
      else expect(Object.keys(JSON.parse(frame.raw.toString()) as object)).toHaveLength(4)
    }
  })

  test('does not leave by what it sent for an earlier join', async () => {
    const wire = await open()
    const name = unique('room')
    const config = { broadcast: { self: true } }
    await wire.mustJoin(name, config, { ref: 'first' })
    await wire.mustJoin(name, config, { ref: 'second' })
    await wire.event(name, 'phx_close')
    wire.send(`realtime:${name}`, 'phx_leave', {}, { joinRef: 'first' })
    wire.broadcast(name, 'still there', {})
    await wire.receiveBroadcast(name, 'still there')
    expect(wire.received).toEqual([])
  })

  test('leaves a topic that it has not joined', async () => {
    const wire = await open()
    const topic = `realtime:${unique('room')}`
    expect(await wire.reply(wire.send(topic, 'phx_leave', {}))).toEqual(ok)
    await wire.flush()
    expect(wire.received).toEqual([])
  })

  test('may send an event that nobody knows, and an outdated reference of its join', async () => {
    const [wire, other] = [await open(), await open()]
    const name = unique('room')
    await wire.mustJoin(name)
    await other.mustJoin(name)
    wire.send(`realtime:${name}`, 'unheard_of', { a: 1 })
    wire.send(
      `realtime:${name}`,
      'broadcast',
      { type: 'broadcast', event: 'late', payload: {} },
      { joinRef: 'long ago' },
    )
    await other.receiveBroadcast(name, 'late')
    await wire.flush()
    expect(wire.received).toEqual([])
  })

  test('stays open whatever comes', async () => {
    const [wire, other] = [await open(), await open()]
    const name = unique('room')
    const topic = `realtime:${name}`
    await wire.mustJoin(name)
    await other.mustJoin(name)
    const rubbish = [
      '',
      ' ',
      'null',
      'true',
      '1',
      '"text"',
      '{',
      '[',
      '[]',
      '{}',
      '[[]]',
      '[1,2,3]',
    ]
    rubbish.push('['.repeat(100_000), '\u0000', 'ping', '{"topic":"phoenix","event":"heartbeat"}')
    rubbish.push(`["1","2","${topic}","broadcast"]`, `["1","2",3,4,5]`, `["1","2",null,null,null]`)
    rubbish.push(`{"topic":"${topic}","event":"broadcast","payload":{}}`)
    rubbish.push(
      `{"topic":"${topic}","payload":{},"ref":"1"}`,
      `{"topic":1,"event":2,"payload":3,"ref":4}`,
    )
    for (const text of rubbish) wire.socket.send(text)
    for (const bytes of [
      [],
      [255],
      [3],
      [0],
      [3, 1],
      [4, 1, 1, 1],
      [9, 9, 9],
      [3, 255, 255, 255, 255, 255, 1],
    ])
      wire.socket.send(Buffer.from(bytes))
    wire.socket.send(Buffer.from([3, 0, 1, 200, 1, 0, 1, 65, 66]))
    // What is said to be JSON and is not, and text that is not in UTF-8.
    const strings = ['', '1', topic, 'shout', '']
    wire.socket.send(binaryFrame(USER_BROADCAST_PUSH, strings, '{"half', JSON_TEXT))
    wire.socket.send(Buffer.from([34, 0xff, 0xfe, 34]), { binary: false })
    for (const payload of [null, 1, 'text', [], [1], true])
      for (const event of ['phx_join', 'phx_leave', 'presence', 'access_token', 'broadcast'])
        wire.send(`realtime:${unique('other')}`, event, payload)
    wire.send('phoenix', 'heartbeat', null)
    await wire.flush()
    wire.received.length = 0
    wire.broadcast(name, 'after', {})
    await other.receiveBroadcast(name, 'after')
  })

  test('is closed for a frame that is too large', async () => {
    for (const frame of ['x'.repeat(5_000_001), Buffer.alloc(5_000_001)]) {
      const wire = await open()
      wire.socket.send(frame)
      expect(await wire.closeCode()).toBe(1009)
    }
    const wire = await open()
    wire.socket.send('x'.repeat(4_999_999))
    await wire.flush()
  })

  test('takes a frame in pieces, and pings', async () => {
    const [wire, other] = [await open(), await open()]
    const name = unique('room')
    await wire.mustJoin(name)
    await other.mustJoin(name)
    const [topic, event] = [`realtime:${name}`, 'broadcast']
    const payload = { type: 'broadcast', event: 'pieces', payload: { text: 'ü'.repeat(1000) } }
    const message =
      vsn === '2.0.0' ? ['1', '9', topic, event, payload] : { topic, event, payload, ref: '9' }
    const bytes = Buffer.from(JSON.stringify(message))
    const ponged = new Promise<Buffer>((resolve) => wire.socket.once('pong', resolve))
    wire.socket.send(bytes.subarray(0, 101), { fin: false, binary: false })
    wire.socket.ping('in between')
    wire.socket.send(bytes.subarray(101, 102), { fin: false, binary: false })
    wire.socket.send(bytes.subarray(102), { fin: true, binary: false })
    expect(await other.receiveBroadcast(name, 'pieces')).toEqual(payload)
    expect((await ponged).toString()).toBe('in between')
  })

  test('is closed as it asks', async () => {
    const wire = await open()
    wire.socket.close(1000, 'enough')
    expect(await wire.closeCode()).toBe(1000)
  })

  test.for<[string, object]>([
    ['says nothing', {}],
    ['has no configuration', { config: null }],
    [
      'says the words for booleans',
      { config: { private: 'False', broadcast: { self: 'TRUE', ack: 'true' } } },
    ],
    [
      'has values of wrong types',
      {
        config: {
          private: 7,
          presence: { enabled: [], key: null },
          broadcast: { ack: 'x', self: {} },
        },
      },
    ],
    ['asks for no changes', { config: { postgres_changes: null } }],
    ['asks for changes of nothing', { config: { postgres_changes: [null] } }],
    ['has keys of clients to come', { version: 'x/1', config: { later: true }, later: 1 }],
    ['has an opaque key as its token', { access_token: 'sb_publishable_x', config: {} }],
  ])('may send a join that %s', async ([, payload]) => {
    const wire = await open()
    const ref = wire.send(`realtime:${unique('room')}`, 'phx_join', payload)
    expect(await wire.reply(ref)).toEqual(joined)
  })
})

describe('a binary frame', () => {
  async function pair() {
    const name = unique('room')
    const [sender, receiver, old] = [
      await wires.add(),
      await wires.add(),
      await wires.add({ vsn: '1.0.0' }),
    ]
    await sender.mustJoin(name, { broadcast: { ack: true } })
    await receiver.mustJoin(name)
    await old.mustJoin(name)
    return { name, sender, receiver, old }
  }

  test('with JSON is passed on as it is, and as text to older clients', async () => {
    const { name, sender, receiver, old } = await pair()
    const content = '{ "a" : 1.50, "b":"\\u00fc", "big":9007199254740993 }'
    const strings = ['1', '40', `realtime:${name}`, 'grüße', '{"what":"a client says"}']
    sender.socket.send(binaryFrame(USER_BROADCAST_PUSH, strings, content, JSON_TEXT))
    expect(await sender.take(({ ref }) => ref === '40', 'reply')).toMatchObject({
      kind: 'text',
      event: 'phx_reply',
      payload: ok,
    })
    const frame = await receiver.receiveBinaryBroadcast(name, 'grüße')
    const expected = [`realtime:${name}`, 'grüße', '']
    expect(frame.raw).toEqual(binaryFrame(USER_BROADCAST, expected, content, JSON_TEXT))
    expect(await old.receiveBroadcast(name, 'grüße')).toMatchObject({
      type: 'broadcast',
      event: 'grüße',
      payload: { a: 1.5, b: 'ü' },
    })
  })

  test('with bytes is passed on as it is, but not to older clients', async () => {
    const { name, sender, receiver, old } = await pair()
    const content = Buffer.from([0, 255, 1, 254, 10, 13, 0])
    sender.binary(name, 'bytes', content)
    sender.binary(name, 'nothing', new Uint8Array())
    sender.binary(name, 'end', {})
    const frame = await receiver.receiveBinaryBroadcast(name, 'bytes')
    expect(frame.raw).toEqual(
      binaryFrame(USER_BROADCAST, [`realtime:${name}`, 'bytes', ''], content, BYTES),
    )
    expect((await receiver.receiveBinaryBroadcast(name, 'nothing')).payload).toHaveLength(0)
    await old.receiveBroadcast(name, 'end')
    expect(old.received).toEqual([])
  })

  test('with an encoding that nobody knows is read as JSON', async () => {
    const { name, sender, receiver } = await pair()
    const strings = ['', '41', `realtime:${name}`, 'odd', '']
    sender.socket.send(binaryFrame(USER_BROADCAST_PUSH, strings, '[1]', 7))
    const frame = await receiver.receiveBinaryBroadcast(name, 'odd')
    expect(frame.payload).toEqual([1])
  })

  test('that pushes bytes to a topic gets a reply and is passed on in kind', async () => {
    const { name, sender, receiver, old } = await pair()
    const strings = ['1', '42', `realtime:${name}`, 'broadcast']
    sender.socket.send(binaryFrame(PUSH, strings, Buffer.from([1, 2, 3])))
    const isPassedOn = ({ kind }: { kind: unknown }) => kind === BROADCAST
    const frame = await receiver.take(isPassedOn, 'broadcast of bytes')
    expect(frame.raw).toEqual(
      binaryFrame(BROADCAST, [`realtime:${name}`, 'broadcast'], Buffer.from([1, 2, 3])),
    )
    await old.flush()
    await sender.flush()
  })

  test('to a topic that is not joined gets a reply in words', async () => {
    const wire = await wires.add()
    const ref = wire.binary(unique('room'), 'shout', {})
    expect(await wire.reply(ref)).toEqual(unmatched)
  })

  test('is nothing that older clients may send', async () => {
    const { name, receiver, old } = await pair()
    old.binary(name, 'binary', {})
    old.broadcast(name, 'text', {})
    await receiver.receiveBroadcast(name, 'text')
    expect(receiver.received).toEqual([])
  })
})
