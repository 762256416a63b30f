import type { Frame } from './frames.ts'
import type { Socket } from './sockets.ts'

/** A socket of Realtime, spoken to in frames of Phoenix channels. */
export class Phoenix {
  #ref = 0

  constructor(
    readonly socket: Socket,
    private readonly vsn: string,
  ) {}

  /** Sends an event on a topic, and returns the reference that its reply will have. */
  push(topic: string, event: string, payload: unknown = {}, joinRef: string | null = null): string {
    this.#ref += 1
    const ref = String(this.#ref)
    const array = [joinRef, ref, topic, event, payload]
    this.socket.send(
      this.vsn === '1.0.0' ? { join_ref: joinRef, ref, topic, event, payload } : array,
    )
    return ref
  }

  /** Joins a topic and checks that the reply is `ok`; returns the reference of the join. */
  async join(topic: string, config: unknown = {}, rest: object = {}): Promise<string> {
    const ref = this.push(topic, 'phx_join', { config, ...rest }, String(this.#ref + 1))
    const payload = { status: 'ok', response: { postgres_changes: [] } }
    const changes = (config as { postgres_changes?: unknown }).postgres_changes
    await this.socket.receives(
      changes ? { topic, event: 'phx_reply', ref } : { topic, event: 'phx_reply', ref, payload },
    )
    return ref
  }

  /** Does what `Socket.receives` does. */
  receives(members: Partial<Record<keyof Frame, unknown>>, limit?: number): Promise<Frame> {
    return this.socket.receives(members, limit)
  }

  /** Does what `Socket.receivesNone` does. */
  receivesNone(members: Partial<Record<keyof Frame, unknown>>, time?: number): Promise<void> {
    return this.socket.receivesNone(members, time)
  }
}
