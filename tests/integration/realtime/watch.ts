import { expect } from 'vitest'

import type { Frame, Join, Wire } from './wire.ts'

/** What a client subscribes to. */
export interface Binding {
  event?: string
  schema?: string
  table?: string
  filter?: string
  select?: unknown
}

/** A change of a row, as a client gets it. */
export interface Change {
  ids: number[]
  data: {
    type: string
    schema: string
    table: string
    commit_timestamp: string | null
    columns: { name: string; type: string }[]
    record?: Record<string, unknown>
    old_record?: Record<string, unknown>
    errors: string[] | null
  }
}

/** Returns the message that confirms a subscription. */
export const subscribed = (name: string) => ({
  channel: name,
  extension: 'postgres_changes',
  message: 'Subscribed to PostgreSQL',
  status: 'ok',
})

/** Returns the message that refuses a subscription. */
export const unsubscribed = (name: string, message: unknown) => ({
  channel: name,
  extension: 'postgres_changes',
  message,
  status: 'error',
})

/** Waits until a subscription ends, also if it was renewed before, and returns the message. */
export async function ended(wire: Wire, name: string): Promise<unknown> {
  const message = await wire.system(name)
  return (message as { status: string }).status === 'ok' ? ended(wire, name) : message
}

/** Joins a channel that watches tables, and returns the ids of its bindings once the subscription is confirmed. */
export async function watch(
  wire: Wire,
  name: string,
  bindings: Binding[],
  join: Join = {},
): Promise<number[]> {
  const reply = await wire.join(name, { postgres_changes: bindings }, join)
  expect(reply).toMatchObject({ status: 'ok' })
  const { response } = reply as { response: { postgres_changes: (Binding & { id: number })[] } }
  expect(response.postgres_changes).toEqual(
    bindings.map((binding) => ({ ...binding, id: expect.any(Number) as number })),
  )
  expect(await wire.system(name)).toEqual(subscribed(name))
  return response.postgres_changes.map(({ id }) => id)
}

/** Returns the changes that have come to a channel and have not been taken. */
export function changes({ received }: Wire, name: string): Change[] {
  const isChange = ({ topic, event }: Frame) =>
    topic === `realtime:${name}` && event === 'postgres_changes'
  return received.filter(isChange).map(({ payload }) => payload as Change)
}

/** Takes the next change that comes to a channel. */
export async function change(wire: Wire, name: string, within?: number): Promise<Change['data']> {
  return ((await wire.event(name, 'postgres_changes', within)).payload as Change).data
}
