/** What cases of Realtime have in common: the frames of binary broadcasts, and listening to row changes. */
import type { RealtimeChannel, SupabaseClient } from '@supabase/supabase-js'

import type { Context, User } from './context.ts'
import { partly } from './match.ts'
import type { Phoenix } from './phoenix.ts'

/** A broadcast as a client sends it in a binary frame, kind 3. */
interface Push {
  ref: string
  topic: string
  event: string
  /** Bytes are sent as they are, anything else as JSON. */
  payload: unknown
  metadata?: string
}

/** Returns the binary frame of a broadcast, kind 3: the lengths, the texts, and the payload. */
export function pushFrame({ ref, topic, event, payload, metadata = '' }: Push): Uint8Array {
  const isBytes = payload instanceof Uint8Array
  const texts = [ref, ref, topic, event, metadata].map((text) => Buffer.from(text))
  const header = [3, ...texts.map(({ length }) => length), isBytes ? 0 : 1]
  const body = isBytes ? payload : Buffer.from(JSON.stringify(payload))
  return new Uint8Array(Buffer.concat([Buffer.from(header), ...texts, body]))
}

/** Returns a broadcast as it is in text frames. */
export function message(event: string, payload: unknown): object {
  return { type: 'broadcast', event, payload }
}

/** Which row changes a channel is told. */
interface Binding {
  event: string
  schema?: string
  table?: string
  filter?: string
  select?: string[]
}

/** What a stock client hands on of a row change. */
interface Change {
  eventType: string
  schema: string
  table: string
  commit_timestamp: string
  new: Record<string, unknown>
  old: Record<string, unknown>
  errors: string[] | null
}

/** A channel of a stock client that is told row changes. */
interface Subscription {
  received: Change[]
  channel: RealtimeChannel
}

/** Listens to row changes with a stock client; returns when the server has said that it tells them from now on. */
export async function listen(
  t: Context,
  binding: Binding,
  client: SupabaseClient = t.anon,
): Promise<Subscription> {
  const listening = subscribe(t, binding, client)
  await t.eventually(
    () => listening.system,
    [partly({ status: 'ok', extension: 'postgres_changes' })],
  )
  return listening
}

/** Asks for row changes with a stock client; `system` has what the server says of it. */
export function subscribe(
  t: Context,
  binding: Binding,
  client: SupabaseClient = t.anon,
): Subscription & { system: unknown[] } {
  const [received, system]: [Change[], unknown[]] = [[], []]
  const channel = client
    .channel(t.unique('changes'))
    .on(
      'postgres_changes',
      { schema: 'public', ...binding } as { event: '*'; schema: string },
      (change) => void received.push(change as unknown as Change),
    )
    .on('system', {}, (notice: unknown) => void system.push(notice))
    .subscribe()
  return { received, system, channel }
}

/** Joins a channel for row changes with raw frames, and waits until the subscription stands. */
export async function joinChanges(
  t: Context,
  phoenix: Phoenix,
  bindings: object[],
  rest: object = {},
): Promise<{ topic: string; ids: number[] }> {
  const name = t.unique('changes')
  const topic = `realtime:${name}`
  const ref = phoenix.push(topic, 'phx_join', { config: { postgres_changes: bindings }, ...rest })
  const reply = await phoenix.receives({ topic, event: 'phx_reply', ref })
  const { response } = reply.payload as { response: { postgres_changes: { id: number }[] } }
  await phoenix.receives({ topic, event: 'system', payload: subscribedTo(name) })
  return { topic, ids: response.postgres_changes.map(({ id }) => id) }
}

/** Returns what the server says when a subscription to row changes stands. */
export function subscribedTo(channel: string): object {
  return {
    ...{ channel, extension: 'postgres_changes', message: 'Subscribed to PostgreSQL' },
    status: 'ok',
  }
}

/** Opens a socket and joins a private channel with a user's token. */
export async function joinPrivate(
  t: Context,
  topic: string,
  user: User,
  config: object = {},
): Promise<Phoenix> {
  const phoenix = await t.phoenix()
  await phoenix.join(topic, { private: true, ...config }, { access_token: user.token })
  return phoenix
}

/** Returns what the server says when it ends a channel. */
export function shut(name: string, text: string | RegExp): object {
  return { extension: 'system', status: 'error', message: text, channel: name }
}
