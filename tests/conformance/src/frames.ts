/** The frames of Phoenix channels, as Realtime sends them in both versions of its protocol. */
import { parseJson, mutateText } from './mutation.ts'
import type { Path } from './match.ts'

/** A frame in words. */
export interface Frame {
  join_ref: string | null
  ref: string | null
  topic: string
  event: string
  payload: unknown
}

/** A message as it is recorded. */
interface MessageRecord {
  /** What messages of its sort have in common. */
  name: string
  text: string
  document: unknown
}

/** The kind of binary frames that carry a user's broadcast to clients. */
const userBroadcast = 4

/** Returns what a message says, for the record. */
export function messageRecord(data: Uint8Array | string): MessageRecord {
  if (typeof data !== 'string') {
    const frame = binaryFrame(data)
    if (!frame) return { name: 'binary', text: `${data.length} bytes`, document: undefined }
    return { name: `broadcast ${frame.event}`, text: JSON.stringify(frame), document: frame }
  }
  const document = parseJson(new TextEncoder().encode(data))
  const frame = textFrame(document)
  return { name: frame ? nameOf(frame) : 'text', text: data, document }
}

/** Returns the frame that a message is; null where it is none. */
export function frameOf(data: Uint8Array | string): Frame | null {
  if (typeof data !== 'string') return binaryFrame(data)
  return textFrame(parseJson(new TextEncoder().encode(data)))
}

/** Returns a changed form of a message. */
export function mutateData(data: Uint8Array | string, paths: readonly Path[]): Uint8Array | string {
  if (typeof data === 'string') return mutateText(paths, data) ?? `${data} `
  const frame = binaryFrame(data)
  const start = payloadStart(data)
  if (!frame || data[4] !== 1)
    return data.map((byte, at) => (at === data.length - 1 ? byte ^ 1 : byte))
  const inner = paths.filter(([first]) => first === 'payload').map((path) => path.slice(1))
  const payload = new TextDecoder().decode(data.subarray(start))
  const changed = (inner.length > 0 ? mutateText(inner, payload) : null) ?? '{"spoiled":true}'
  return new Uint8Array(Buffer.concat([data.subarray(0, start), new TextEncoder().encode(changed)]))
}

function nameOf({ topic, event, payload }: Frame): string {
  const { event: inner, status } = (payload ?? {}) as Record<string, unknown>
  const words = [inner, status].filter((word) => typeof word === 'string')
  // Topics contain names that differ in each run.
  return [topic === 'phoenix' ? 'phoenix' : event, ...words].join(' ')
}

function textFrame(document: unknown): Frame | null {
  if (Array.isArray(document) && document.length >= 5) {
    const [join_ref, ref, topic, event, payload] = document as [
      string,
      string,
      string,
      string,
      unknown,
    ]
    return { join_ref, ref, topic, event, payload }
  }
  if (typeof document !== 'object' || document === null || !('topic' in document)) return null
  const { ref, topic, event, payload } = document as Frame
  return { join_ref: null, ref, topic, event, payload }
}

function payloadStart(data: Uint8Array): number {
  const [, topic = 0, event = 0, metadata = 0] = data
  return 5 + topic + event + metadata
}

function binaryFrame(data: Uint8Array): Frame | null {
  if (data[0] !== userBroadcast || data.length < 5) return null
  const [, topicLength = 0, eventLength = 0] = data
  const text = (from: number, length: number) =>
    new TextDecoder().decode(data.subarray(from, from + length))
  const bytes = data.subarray(payloadStart(data))
  const payload = data[4] === 1 ? parseJson(bytes) : Buffer.from(bytes).toString('hex')
  const topic = text(5, topicLength)
  return { join_ref: null, ref: null, topic, event: text(5 + topicLength, eventLength), payload }
}
