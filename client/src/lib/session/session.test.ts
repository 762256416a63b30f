import { renderHook, waitFor } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'

import { testSession } from '@/testing/session'

import { AUTH_STORAGE_KEY } from './auth-storage'
import { messages } from '@/lib/notices/messages'

const client = vi.hoisted(() => ({ get: vi.fn<() => unknown>() }))
vi.mock('@/lib/supabase/get-supabase', () => ({ getSupabase: () => Promise.resolve(client.get()) }))

const error = vi.hoisted(() => vi.fn())
vi.mock('@/lib/notices/notify', () => ({ notify: { error } }))

/** Opens a page of its own: the module's state lives as long as the page. */
async function openPage() {
  vi.resetModules()
  localStorage.setItem(AUTH_STORAGE_KEY, '{}')
  const { currentUserId, useSession } = await import('./session')
  return { ...renderHook(useSession), currentUserId }
}

function authResponding(answer: object) {
  client.get.mockReturnValue({
    auth: { getSession: () => Promise.resolve(answer), onAuthStateChange: vi.fn() },
  })
}

beforeEach(() => void error.mockReset())

it('knows who is signed in', async () => {
  authResponding({ data: { session: testSession() }, error: null })
  const { result, currentUserId } = await openPage()
  await waitFor(() => expect(result.current?.user.email).toBe('ada@club.example'))
  expect(currentUserId()).toBe('user-1')
  expect(error).not.toHaveBeenCalled()
})

it('says when the session cannot be read, and shows the page to a visitor', async () => {
  authResponding({ data: { session: null }, error: new Error('unreadable') })
  const { result } = await openPage()
  await waitFor(() => expect(result.current).toBeNull())
  expect(error).toHaveBeenCalledWith(messages.session.unreadable)
  expect(messages.session.unreadable).toBe('Authentication error')
})

it('says when authentication cannot be started', async () => {
  vi.spyOn(console, 'error').mockReturnValue()
  client.get.mockImplementation(() => {
    throw new Error('the file is gone')
  })
  const { result } = await openPage()
  await waitFor(() => expect(result.current).toBeNull())
  expect(error).toHaveBeenCalledWith('Failed to initialize authentication')
})
