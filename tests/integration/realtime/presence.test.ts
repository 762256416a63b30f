/** Presence: who is on a channel. */
import { REALTIME_SUBSCRIBE_STATES, type RealtimeChannel } from '@supabase/supabase-js'
import { afterEach, describe, expect, test } from 'vitest'

import type { Client } from '../../support/client.ts'
import { visitor } from '../clients.ts'
import { unique, Wires } from './stage.ts'
import { VERSIONS, type Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const ok = { status: 'ok', response: {} }

interface Meta {
  phx_ref: string
  phx_ref_prev?: string
}
type Presences = Record<string, { metas: Meta[] }>
interface Diff {
  joins: Presences
  leaves: Presences
}

/** Sends a presence message and returns the reply. */
function presence(wire: Wire, name: string, event: string, payload?: unknown): Promise<unknown> {
  const message = { type: 'presence', event, ...(payload === undefined ? {} : { payload }) }
  return wire.reply(wire.send(`realtime:${name}`, 'presence', message))
}

const track = (wire: Wire, name: string, payload: unknown) => presence(wire, name, 'track', payload)

const diff = async (wire: Wire, name: string) =>
  (await wire.event(name, 'presence_diff')).payload as Diff
const state = async (wire: Wire, name: string) =>
  (await wire.event(name, 'presence_state')).payload as Presences

const enabled = (key?: string) => ({ presence: { enabled: true, ...(key ? { key } : {}) } })

const meta = (payload: object) => ({ ...payload, phx_ref: expect.any(String) as string })

describe.for(VERSIONS)('in version %s', (vsn) => {
  const open = () => wires.add({ vsn })

  test('who joins is told who is there, even if nobody is', async () => {
    const name = unique('room')
    const [one, two] = [await open(), await open()]
    await one.mustJoin(name, enabled('one'), { ref: 'join' })
    const frame = await one.event(name, 'presence_state')
    expect(frame).toMatchObject({ ref: null, payload: {} })
    if (vsn === '2.0.0') expect(frame.joinRef).toBe('join')

    expect(await track(one, name, { mood: 'fine', n: [1] })).toEqual(ok)
    await two.mustJoin(name, enabled('two'))
    expect(await state(two, name)).toEqual({ one: { metas: [meta({ mood: 'fine', n: [1] })] } })
  })

  test('everybody is told who comes, changes and goes', async () => {
    const name = unique('room')
    const [one, two] = [await open(), await open()]
    await one.mustJoin(name, enabled('one'))
    await two.mustJoin(name, enabled('two'))

    await track(one, name, { at: 1 })
    const came = await diff(two, name)
    expect(came).toEqual({ joins: { one: { metas: [meta({ at: 1 })] } }, leaves: {} })
    expect(await diff(one, name)).toEqual(came)
    const first = came.joins.one?.metas[0]?.phx_ref

    expect(await track(one, name, { at: 1 })).toEqual(ok)
    expect(await track(one, name, { at: 2 })).toEqual(ok)
    const changed = await diff(two, name)
    expect(changed).toEqual({
      joins: { one: { metas: [{ ...meta({ at: 2 }), phx_ref_prev: first }] } },
      leaves: { one: { metas: [{ at: 1, phx_ref: first }] } },
    })
    const second = changed.joins.one?.metas[0]?.phx_ref
    expect(second).not.toBe(first)

    expect(await presence(one, name, 'UNTRACK')).toEqual(ok)
    const removed = await diff(two, name)
    expect(removed.joins).toEqual({})
    expect(removed.leaves).toMatchObject({ one: { metas: [{ at: 2, phx_ref: second }] } })
    await one.flush()
    expect(one.received.filter(({ event }) => event === 'presence_diff')).toHaveLength(2)
    expect(two.received.filter(({ event }) => event === 'presence_diff')).toEqual([])
  })

  test('who leaves, closes or is cut off is gone', async () => {
    const name = unique('room')
    const [witness, one, two, three] = [await open(), await open(), await open(), await open()]
    await witness.mustJoin(name, enabled())
    for (const [key, wire] of Object.entries({ one, two, three })) {
      await wire.mustJoin(name, enabled(key))
      await track(wire, name, { key })
      expect(Object.keys((await diff(witness, name)).joins)).toEqual([key])
    }
    one.send(`realtime:${name}`, 'phx_leave', {})
    expect(await diff(witness, name)).toEqual({
      joins: {},
      leaves: { one: { metas: [meta({ key: 'one' })] } },
    })
    two.close()
    expect(Object.keys((await diff(witness, name)).leaves)).toEqual(['two'])
    const cut = Date.now()
    three.cut()
    expect(Object.keys((await diff(witness, name)).leaves)).toEqual(['three'])
    expect(Date.now() - cut).toBeLessThan(3000)
    const late = await open()
    await late.mustJoin(name, enabled())
    expect(await state(late, name)).toEqual({})
  })

  test('a channel without presence hears of it nevertheless, once it is public', async () => {
    const name = unique('room')
    const [one, two] = [await open(), await open()]
    await one.mustJoin(name)
    await two.mustJoin(name, enabled('two'))
    await track(two, name, { here: true })
    expect((await diff(one, name)).joins).toEqual({ two: { metas: [meta({ here: true })] } })
    await one.flush()
    expect(one.received.filter(({ event }) => event === 'presence_state')).toEqual([])
    expect(await track(one, name, { here: 'too' })).toEqual(ok)
    expect(Object.values((await diff(two, name)).joins)).toHaveLength(1)
  })
})

test('whoever has no key gets one', async () => {
  const name = unique('room')
  const [one, two] = [await wires.add(), await wires.add()]
  await one.mustJoin(name, { presence: { enabled: true, key: '' } })
  await two.mustJoin(name, { presence: { enabled: true, key: null } })
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
  await track(one, name, {})
  const [first = ''] = Object.keys((await diff(two, name)).joins)
  await track(two, name, {})
  const [second = ''] = Object.keys((await diff(two, name)).joins)
  expect(first).toMatch(uuid)
  expect(second).toMatch(uuid)
  expect(first).not.toBe(second)
})

test('a key that several channels have lists them all', async () => {
  const name = unique('room')
  const [one, two, three] = [await wires.add(), await wires.add(), await wires.add()]
  for (const [number, wire] of [one, two].entries()) {
    await wire.mustJoin(name, enabled('same'))
    await track(wire, name, { number })
  }
  await three.mustJoin(name, enabled())
  const there = await state(three, name)
  expect(there.same?.metas).toHaveLength(2)
  expect(there.same?.metas).toEqual(
    expect.arrayContaining([meta({ number: 0 }), meta({ number: 1 })]),
  )
  const refs = there.same?.metas.map(({ phx_ref }) => phx_ref)
  expect(new Set(refs).size).toBe(2)
  one.cut()
  expect((await diff(three, name)).leaves).toEqual({ same: { metas: [meta({ number: 0 })] } })
  const late = await wires.add()
  await late.mustJoin(name, enabled())
  expect((await state(late, name)).same?.metas).toEqual([
    expect.objectContaining({ number: 1, phx_ref: refs?.[1] }),
  ])
})

test('events may be in any case, and some mean nothing', async () => {
  const name = unique('room')
  const wire = await wires.add()
  await wire.mustJoin(name, enabled())
  expect(await presence(wire, name, 'TRACK', {})).toEqual(ok)
  expect(await presence(wire, name, 'unheard-of')).toMatchObject({ status: 'error', response: {} })
  expect(await wire.reply(wire.send(`realtime:${name}`, 'presence', { type: 'presence' }))).toEqual(
    ok,
  )
})

test.for([['text'], [5], [[1]], [null]])('%j is nothing to be tracked', async ([payload]) => {
  const name = unique('room')
  const wire = await wires.add()
  await wire.mustJoin(name, enabled())
  expect(await presence(wire, name, 'track', payload)).toEqual({
    status: 'error',
    response: { reason: 'Presence track payload must be a map' },
  })
})

test('who untracks without having tracked tells nobody', async () => {
  const name = unique('room')
  const [one, two] = [await wires.add(), await wires.add()]
  for (const wire of [one, two]) await wire.mustJoin(name, enabled())
  expect(await presence(one, name, 'untrack')).toEqual(ok)
  await track(one, name, { after: true })
  expect((await diff(two, name)).joins).not.toEqual({})
})

test('a channel that calls too often is shut, and its socket is not', async () => {
  const name = unique('room')
  const [wire, witness] = [await wires.add(), await wires.add()]
  await wire.mustJoin(name, enabled('busy'))
  await witness.mustJoin(name, enabled())
  const other = unique('other')
  await wire.mustJoin(other)
  for (let n = 0; n < 5; n++) expect(await track(wire, name, { n })).toEqual(ok)
  wire.send(`realtime:${name}`, 'presence', { type: 'presence', event: 'track', payload: { n: 6 } })
  expect(await wire.system(name)).toEqual({
    extension: 'system',
    status: 'error',
    message: 'Client presence rate limit exceeded',
    channel: name,
  })
  await wire.event(name, 'phx_close')
  const isLast = ({ event, payload }: { event: string; payload: unknown }) =>
    event === 'presence_diff' && Object.keys((payload as Diff).joins).length === 0
  const { payload } = await witness.take(isLast, 'leave')
  expect((payload as Diff).leaves).toMatchObject({ busy: { metas: [{ n: 4 }] } })
  witness.broadcast(name, 'after', {})
  wire.broadcast(other, 'still there', {})
  await wire.flush()
  expect(
    wire.received.filter(({ event }) => event !== 'presence_diff' && event !== 'presence_state'),
  ).toEqual([])
})

test('a channel that tracks too much is shut', async () => {
  const name = unique('room')
  const wire = await wires.add()
  await wire.mustJoin(name, enabled())
  const payload = { text: 'x'.repeat(3_100_000) }
  wire.send(`realtime:${name}`, 'presence', { type: 'presence', event: 'track', payload })
  expect(await wire.system(name)).toEqual({
    extension: 'system',
    status: 'error',
    message: 'Track message size exceeded',
    channel: name,
  })
  await wire.event(name, 'phx_close')
})

describe('the stock client', () => {
  const clients: Client[] = []
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.realtime.disconnect()))
  })

  /** Joins a topic under `key` with a client of its own that notes who comes and goes. */
  async function guest(name: string, key: string) {
    const client = visitor()
    clients.push(client)
    const news: string[] = []
    const channel = client.channel(name, { config: { presence: { key } } })
    channel.on('presence', { event: 'join' }, ({ key }) => news.push(`+${key}`))
    channel.on('presence', { event: 'leave' }, ({ key }) => news.push(`-${key}`))
    channel.on('presence', { event: 'sync' }, () => undefined)
    await new Promise<void>((resolve, reject) => {
      channel.subscribe((status, error) => {
        if (status === REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) resolve()
        else reject(error ?? new Error(status))
      })
    })
    return { channel, news }
  }

  const there = (channel: RealtimeChannel) =>
    Object.entries(channel.presenceState<{ n: number }>()).map(([key, metas]) => [
      key,
      metas.map(({ n }) => n),
    ])

  test('sees who is there', async () => {
    const name = unique('room')
    const one = await guest(name, 'one')
    expect(await one.channel.track({ n: 1 })).toBe('ok')
    await expect.poll(() => there(one.channel)).toEqual([['one', [1]]])
    const two = await guest(name, 'two')
    await expect.poll(() => there(two.channel)).toEqual([['one', [1]]])
    expect(await two.channel.track({ n: 2 })).toBe('ok')
    await expect
      .poll(() => there(one.channel))
      .toEqual([
        ['one', [1]],
        ['two', [2]],
      ])
    expect(await two.channel.track({ n: 3 })).toBe('ok')
    await expect
      .poll(() => there(one.channel))
      .toEqual([
        ['one', [1]],
        ['two', [3]],
      ])
    expect(await one.channel.untrack()).toBe('ok')
    await expect.poll(() => there(two.channel)).toEqual([['two', [3]]])
    await two.channel.unsubscribe()
    await expect.poll(() => there(one.channel)).toEqual([])
    expect(one.news).toEqual(['+one', '+two', '+two', '-two', '-one', '-two'])
  })
})
