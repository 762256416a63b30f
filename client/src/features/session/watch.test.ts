import { createHash } from 'node:crypto'

import { fireEvent } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { noticeStore, type Notice } from '@/lib/notices/notify'
import { isCompleteSession } from '@/lib/session/session-integrity'
import { getSupabase } from '@/lib/supabase/get-supabase'
import { jsonResponse, stubBackend } from '@/testing/backend'
import { testSession } from '@/testing/session'

import { minutesUntilEnd, watchSession } from './watch'

const MINUTE = 60_000
const ENDED = 'Session expired for security reasons'

let toasts: Notice[]
let disconnect: () => void
let stop: (() => void) | undefined

async function watch(
  integrity: () => Response = () => jsonResponse(true, 200),
  session = testSession(),
) {
  stubBackend(
    {},
    { validate_session_integrity: integrity, logout: () => new Response(null, { status: 204 }) },
  )
  const { auth } = await getSupabase()
  const signOut = vi.spyOn(auth, 'signOut').mockResolvedValue({ error: null })
  stop = watchSession(session)
  await vi.advanceTimersByTimeAsync(0)
  return signOut
}

function sha256(bytes: BufferSource) {
  const buffer = ArrayBuffer.isView(bytes) ? bytes.buffer : bytes
  return createHash('sha256').update(new Uint8Array(buffer)).digest()
}

const titles = () => toasts.map(({ title }) => title)

describe('the watch over a session', () => {
  beforeEach(async () => {
    // The client comes by a dynamic import, which fake timers would not let finish.
    await getSupabase()
    vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null)
    // The platform's digest comes from another thread, whose pace no fake clock sets.
    vi.spyOn(crypto.subtle, 'digest').mockImplementation((_, bytes) =>
      Promise.resolve(Uint8Array.from(sha256(bytes)).buffer),
    )
    vi.useFakeTimers()
    toasts = []
    disconnect = noticeStore.subscribe(() => {
      const [newest] = noticeStore.snapshot()
      if (newest) toasts.push(newest)
    })
  })
  afterEach(() => {
    stop?.()
    disconnect()
    vi.useRealTimers()
  })

  it('warns each minute of the last five, then signs out', async () => {
    const signOut = await watch()
    await vi.advanceTimersByTimeAsync(24 * MINUTE)
    expect(titles()).toEqual([])
    await vi.advanceTimersByTimeAsync(5 * MINUTE)
    expect(titles()).toEqual([5, 4, 3, 2, 1].map((n) => `Session will expire in ${n} minutes`))
    expect(toasts.every(({ kind }) => kind === 'warning')).toBe(true)
    expect(signOut).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(MINUTE)
    expect(titles().at(-1)).toBe(ENDED)
    expect(signOut).toHaveBeenCalledOnce()
  })

  it.each(['mousemove', 'keydown', 'scroll', 'click', 'touchstart', 'focus'])(
    'begins the half hour anew at every %s',
    async (event) => {
      const signOut = await watch()
      await vi.advanceTimersByTimeAsync(29 * MINUTE)
      fireEvent(window, new Event(event))
      await vi.advanceTimersByTimeAsync(29 * MINUTE)
      expect(signOut).not.toHaveBeenCalled()
      await vi.advanceTimersByTimeAsync(MINUTE)
      expect(signOut).toHaveBeenCalledOnce()
    },
  )

  it('counts what is done in other tabs', async () => {
    const signOut = await watch()
    await vi.advanceTimersByTimeAsync(29 * MINUTE)
    localStorage.setItem('last_activity', String(Date.now()))
    await vi.advanceTimersByTimeAsync(20 * MINUTE)
    expect(signOut).not.toHaveBeenCalled()
  })

  it('ends a session that the server does not accept', async () => {
    const signOut = await watch(() => jsonResponse(false, 200))
    await vi.waitFor(() => expect(signOut).toHaveBeenCalledOnce())
    expect(titles()).toEqual([ENDED])
  })

  it('lets it go on where the server cannot be asked', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    const signOut = await watch(() => jsonResponse({ code: 'XX000', message: 'down' }, 500))
    await vi.advanceTimersByTimeAsync(MINUTE)
    expect(signOut).not.toHaveBeenCalled()
  })

  it('ends a session that goes on in another browser', async () => {
    const signOut = await watch()
    await vi.advanceTimersByTimeAsync(MINUTE)
    vi.spyOn(navigator, 'language', 'get').mockReturnValue('xx-XX')
    await vi.advanceTimersByTimeAsync(MINUTE)
    await vi.waitFor(() => expect(signOut).toHaveBeenCalledOnce())
    expect(titles()).toEqual([ENDED])
    expect(localStorage.getItem('session_fingerprint')).toBeNull()
  })

  it('remembers each session’s own browser', async () => {
    localStorage.setItem('session_fingerprint', 'another-session 00ff')
    const signOut = await watch()
    await vi.advanceTimersByTimeAsync(MINUTE)
    expect(signOut).not.toHaveBeenCalled()
    expect(localStorage.getItem('session_fingerprint')).toMatch(/^session-1 [0-9a-f]+$/)
  })

  it('ends a session whose token has expired', async () => {
    const signOut = await watch(undefined, testSession(-1))
    await vi.waitFor(() => expect(signOut).toHaveBeenCalledOnce())
  })
})

it('takes only sessions with both tokens and a time that is still to come', () => {
  const session = testSession()
  expect(isCompleteSession(session)).toBe(true)
  expect(isCompleteSession({ ...session, refresh_token: '' })).toBe(false)
  expect(isCompleteSession({ ...session, access_token: '' })).toBe(false)
  expect(isCompleteSession({ ...session, expires_at: undefined })).toBe(false)
  expect(isCompleteSession(testSession(-1))).toBe(false)
})

it('counts minutes up', () => {
  expect(minutesUntilEnd(0, 25 * MINUTE)).toBe(5)
  expect(minutesUntilEnd(0, 25 * MINUTE + 1)).toBe(5)
  expect(minutesUntilEnd(0, 30 * MINUTE)).toBe(0)
})
