/** Limits, each on a server with a low one. */
import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { isOwn, unique, Wires } from './stage.ts'
import { handshakeRefusal, type Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const joined = { status: 'ok', response: { postgres_changes: [] } }
const refusal = (reason: string) => ({ status: 'error', response: { reason } })
const shut = (name: string, message: string) => ({
  extension: 'system',
  status: 'error',
  message,
  channel: name,
})

describe.skipIf(!isOwn)('a server', () => {
  let few: Server
  let slow: Server
  let quiet: Server
  let shared: Server

  beforeAll(async () => {
    const presence = 'max_presence_events_per_second = 2\nclient_presence_max_calls = 1000'
    const starting = [
      start(
        { TENANT_MAX_CONCURRENT_USERS: '3', TENANT_MAX_CHANNELS_PER_CLIENT: '4' },
        `[basalt.realtime]\n${presence}\n`,
      ),
      start({ TENANT_MAX_JOINS_PER_SECOND: '2' }),
      start({ TENANT_MAX_EVENTS_PER_SECOND: '5' }),
      start({ TENANT_MAX_CONCURRENT_USERS: '4', BASALT_TRUSTED_PROXIES: '1' }),
    ] as const
    ;[few, slow, quiet, shared] = await Promise.all(starting)
  })

  const socketOptions = ({ access }: Server) => ({
    url: access.url,
    key: access.anonKey,
  })
  const open = (own: Server) => wires.add(socketOptions(own))

  test('has so many channels for one socket', async () => {
    const wire = await open(few)
    const names = Array.from({ length: 4 }, () => unique('room'))
    for (const name of names) expect(await wire.join(name)).toEqual(joined)
    expect(await wire.join(unique('room'))).toEqual(
      refusal('ChannelRateLimitReached: Too many channels'),
    )
    await wire.reply(wire.send(`realtime:${names[0] ?? ''}`, 'phx_leave', {}))
    expect(await wire.join(unique('room'))).toEqual(joined)
    expect(await (await open(few)).join(unique('room'))).toEqual(joined)
  })

  test('has so many sockets with a channel', async () => {
    // The sockets of the test before may take a moment to close.
    const late = await open(few)
    const users: Wire[] = []
    for (let count = 0; count < 3; count++) {
      const wire = await open(few)
      await vi.waitFor(async () => expect(await wire.join('room')).toEqual(joined), 20_000)
      users.push(wire)
    }
    expect(await handshakeRefusal({ ...socketOptions(few), vsn: '2.0.0' })).toEqual({
      status: 429,
      type: 'application/json; charset=utf-8',
      body: { error: 'Too many connected users' },
    })
    expect(await late.join('room')).toEqual(
      refusal('ConnectionRateLimitReached: Too many connected users'),
    )
    // Users with a channel may join another one.
    expect(await users[0]?.join('other')).toEqual(joined)
    users[1]?.cut()
    await vi.waitFor(async () => expect(await late.join('room')).toEqual(joined), 20_000)
    await users[2]?.reply(users[2].send('realtime:room', 'phx_leave', {}))
    await (await open(few)).mustJoin('room')
  })

  test('leaves sockets with a channel to other networks', async () => {
    const from = (address: string) => ({
      ...socketOptions(shared),
      headers: { 'x-forwarded-for': address },
    })
    const join = async (address: string) => (await wires.add(from(address))).join('room')
    const late = await wires.add(from('2001:db8:1:1::9'))
    for (const last of ['1', '2', '3']) expect(await join(`2001:db8:1:1::${last}`)).toEqual(joined)
    expect(await late.join('room')).toEqual(
      refusal('ConnectionRateLimitReached: Too many connected users'),
    )
    const refused = await handshakeRefusal({ ...from('2001:db8:1:1::4'), vsn: '2.0.0' })
    expect(refused.status).toBe(429)
    expect(await join('2001:db8:1:2::1')).toEqual(joined)
  })

  test('has so many presence messages a second', async () => {
    const name = unique('room')
    const wire = await vi.waitFor(() => open(few), 20_000)
    await vi.waitFor(() => wire.mustJoin(name, { presence: { enabled: true } }), 20_000)
    let n = 0
    const track = () => {
      const payload = { n: n++ }
      wire.send(`realtime:${name}`, 'presence', { type: 'presence', event: 'track', payload })
    }
    for (let times = 0; times < 200; times++) track()
    const tracking = setInterval(track, 300)
    try {
      expect(await wire.system(name, 15_000)).toEqual(
        shut(name, 'Too many presence messages per second'),
      )
    } finally {
      clearInterval(tracking)
    }
    await wire.event(name, 'phx_close')
    await wire.flush()
  })

  test('has so many joins a second', async () => {
    const [one, late] = [await open(slow), await open(slow)]
    const joining = [await open(slow), await open(slow)]
    const tooManyJoins = refusal('ClientJoinRateLimitReached: Too many joins per second')
    await one.mustJoin(unique('room'))
    for (const wire of joining)
      for (let count = 0; count < 80; count++) {
        const reply = await wire.join(unique('room'))
        // The rate may be measured while they still join.
        if (isDeepStrictEqual(reply, tooManyJoins)) break
        expect(reply).toEqual(joined)
      }
    await vi.waitFor(
      async () => {
        expect(await handshakeRefusal({ ...socketOptions(slow), vsn: '2.0.0' })).toEqual({
          status: 429,
          type: 'application/json; charset=utf-8',
          body: { error: 'Too many joins per second' },
        })
      },
      { timeout: 20_000, interval: 500 },
    )
    expect(await late.join('room')).toEqual(tooManyJoins)
    expect(await late.closeCode()).toBe(1001)
    // Sockets with channels stay open.
    await one.flush()
  })

  test('has so many messages a second', async () => {
    const { url, anonKey } = quiet.access
    const post = (path: string, body: unknown) =>
      fetch(`${url}/realtime/v1/api/${path}`, {
        method: 'POST',
        headers: { apikey: anonKey, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const message = { topic: 'room', event: 'shout', payload: {} }
    const large = await post('broadcast', { messages: Array.from({ length: 50 }, () => message) })
    expect(large.status).toBe(429)
    expect(await large.json()).toEqual({
      message: 'Too many messages to broadcast, please reduce the batch size',
    })
    expect((await post('broadcast', { messages: [message] })).status).toBe(202)

    const [wire, name] = [await open(quiet), unique('room')]
    await wire.mustJoin(name, { broadcast: { self: true } })
    for (let times = 0; times < 400; times++) wire.broadcast(name, 'shout', {})
    const shouting = setInterval(() => wire.broadcast(name, 'shout', {}), 300)
    try {
      expect(await wire.system(name, 15_000)).toEqual(shut(name, 'Too many messages per second'))
    } finally {
      clearInterval(shouting)
    }
    await wire.event(name, 'phx_close')
    await wire.flush()
    for (const [path, body] of [
      ['broadcast', { messages: [message] }],
      ['broadcast/room/events/shout', {}],
    ] as const) {
      const rejection = await post(path, body)
      expect(rejection.status).toBe(429)
      const { message: text } = (await rejection.json()) as { message: string }
      expect(text).toMatch(/^(Too many requests|You have exceeded your rate limit)$/)
    }
  })
})
