/** Presence: who is on a channel. */
import { afterEach, expect, test } from 'vitest'

import { unique, Wires } from './stage.ts'
import type { Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const ok = { status: 'ok', response: {} }

/** Who has come and who has gone, by their keys. */
interface Diff {
  joins: Record<string, { metas: object[] }>
  leaves: Record<string, { metas: object[] }>
}

/** Sends a presence message and returns the reply. */
function presence(wire: Wire, name: string, event: string, payload?: unknown): Promise<unknown> {
  const message = { type: 'presence', event, ...(payload === undefined ? {} : { payload }) }
  return wire.reply(wire.send(`realtime:${name}`, 'presence', message))
}

const track = (wire: Wire, name: string, payload: unknown) => presence(wire, name, 'track', payload)

const diff = async (wire: Wire, name: string) =>
  (await wire.event(name, 'presence_diff')).payload as Diff

const enabled = (key?: string) => ({ presence: { enabled: true, ...(key ? { key } : {}) } })

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
