import { QueryClient } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { followContent } from './live-content'

/** A message of the protocol's second version. */
type Message = [
  joinRef: string | null,
  ref: string | null,
  topic: string,
  event: string,
  payload: object,
]

const JOINED = { postgres_changes: [{ id: 7, event: '*', schema: 'public' }] }

/** A socket whose server takes every message, or of a server without channels. */
class Socket {
  static opened: Socket[] = []
  static isRefused = false

  readyState = 0
  binaryType = ''
  onopen?: () => void
  onclose?: (event: object) => void
  onerror?: (event: object) => void
  onmessage?: (event: { data: string }) => void

  readonly url: string

  constructor(url: string) {
    this.url = url
    Socket.opened.push(this)
    setTimeout(() => (Socket.isRefused ? this.fail() : this.open()))
  }

  open() {
    this.readyState = 1
    this.onopen?.()
  }

  fail() {
    this.readyState = 3
    this.onerror?.({})
    this.onclose?.({ code: 1006 })
  }

  send(data: string) {
    const [joinRef, ref, topic, event] = JSON.parse(data) as Message
    const response = event === 'phx_join' ? JOINED : {}
    this.receive([joinRef, ref, topic, 'phx_reply', { status: 'ok', response }])
  }

  receive(message: Message) {
    this.onmessage?.({ data: JSON.stringify(message) })
  }

  close() {
    this.readyState = 3
    this.onclose?.({ code: 1000 })
  }
}

function changed(table: string) {
  const data = {
    type: 'UPDATE',
    schema: 'public',
    table,
    commit_timestamp: '2026-05-01T12:00:00Z',
    columns: [],
    record: {},
    old_record: {},
    errors: null,
  }
  const payload = { ids: [7], data }
  Socket.opened.at(-1)?.receive([null, null, 'realtime:content', 'postgres_changes', payload])
}

describe('following the content', () => {
  const queries = new QueryClient()
  const read = () =>
    vi.mocked(queries.invalidateQueries).mock.calls.map(([filters]) => filters?.queryKey?.[0])
  let stop = () => {}

  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('WebSocket', Socket)
    Socket.opened = []
    Socket.isRefused = false
    vi.spyOn(queries, 'invalidateQueries').mockResolvedValue()
  })
  afterEach(() => stop())

  async function follow() {
    stop = followContent(queries)
    await vi.advanceTimersByTimeAsync(100)
  }

  it('reads again what shows a table that was changed', async () => {
    await follow()
    expect(Socket.opened[0]?.url).toMatch(
      /^ws:\/\/backend\.test\/realtime\/v1\/websocket\?apikey=anon-key/,
    )
    changed('blog_posts')
    expect(read()).toEqual(['blog-posts', 'recent-posts', 'article'])
    changed('newsletter_subscriptions')
    expect(read()).toHaveLength(3)
  })

  it('reads everything again after it was cut off', async () => {
    await follow()
    Socket.opened[0]?.fail()
    expect(read()).toEqual([])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(read()).toEqual(expect.arrayContaining(['faqs', 'site-settings', 'testimonials']))
  })

  it('leaves a server without channels alone after five attempts', async () => {
    Socket.isRefused = true
    await follow()
    await vi.advanceTimersByTimeAsync(300_000)
    expect(Socket.opened).toHaveLength(5)
  })
})
