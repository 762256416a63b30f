import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { createQueryClient, type Table } from './query-client'

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

function hidden(table: string) {
  const payload = { type: 'broadcast', event: 'hidden', payload: { table } }
  Socket.opened.at(-1)?.receive([null, null, 'realtime:content', 'broadcast', payload])
}

describe('following the content', () => {
  let queries = createQueryClient()
  let stop = () => {}

  /** Reads a query that shows rows of these tables; none where it shows no content. */
  function read(name: string, tables?: readonly Table[]) {
    const meta = tables && { tables }
    queries
      .getQueryCache()
      .build(queries, { queryKey: [name], meta })
      .setData(name)
  }

  /** Returns the names of the queries that are to be read again. */
  const stale = () =>
    queries
      .getQueryCache()
      .getAll()
      .filter(({ state }) => state.isInvalidated)
      .map(({ queryKey }) => queryKey[0])

  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('WebSocket', Socket)
    Socket.opened = []
    Socket.isRefused = false
    queries = createQueryClient()
    read('posts', ['blog_posts'])
    read('experts', ['testimonials', 'testimonial_page_orders'])
    read('profile')
  })
  afterEach(() => stop())

  async function follow() {
    // The site's client keeps the kind of socket that it finds when it is made.
    const { followContent } = await import('./live-content')
    stop = followContent(queries)
    await vi.advanceTimersByTimeAsync(100)
  }

  it('reads again what shows a table that was changed', async () => {
    await follow()
    expect(Socket.opened[0]?.url).toMatch(
      /^ws:\/\/backend\.test\/realtime\/v1\/websocket\?apikey=anon-key/,
    )
    changed('newsletter_subscriptions')
    expect(stale()).toEqual([])
    changed('testimonial_page_orders')
    expect(stale()).toEqual(['experts'])
    changed('blog_posts')
    expect(stale()).toEqual(['posts', 'experts'])
  })

  it('reads again what shows a table of which a row was hidden', async () => {
    await follow()
    hidden('testimonials')
    expect(stale()).toEqual(['experts'])
  })

  it('reads everything again after it was cut off', async () => {
    await follow()
    Socket.opened[0]?.fail()
    expect(stale()).toEqual([])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(stale()).toEqual(['posts', 'experts'])
  })

  it('leaves a server without channels alone after half a minute', async () => {
    Socket.isRefused = true
    await follow()
    await vi.advanceTimersByTimeAsync(30_000)
    const attempts = Socket.opened.length
    expect(attempts).toBeGreaterThan(3)
    await vi.advanceTimersByTimeAsync(300_000)
    expect(Socket.opened).toHaveLength(attempts)
  })
})
