import { beforeEach, expect, it, vi } from 'vitest'

import { noticeStore } from '@/lib/notices/notify'

import { LoadError, loadPart, recover } from './load-part'

const location = { reload: vi.fn(), assign: vi.fn() }
let leave: () => void = () => undefined

beforeEach(() => {
  vi.spyOn(console, 'error').mockReturnValue()
  vi.stubGlobal('location', location)
  location.reload.mockClear()
  location.assign.mockClear()
  // The toasts of the previous test go with the last one who shows them.
  leave()
  leave = noticeStore.subscribe(() => undefined)
})

const titles = () => noticeStore.snapshot().map(({ title }) => title)

/** Has the site's server answer with `status`, or not at all. */
function stubServer(status: number | 'unreachable') {
  const answer = () =>
    status === 'unreachable'
      ? Promise.reject(new TypeError('fetch failed'))
      : Promise.resolve(new Response(null, { status }))
  vi.stubGlobal('fetch', vi.fn(answer))
}

it('tells a part that cannot be loaded from other errors', async () => {
  await expect(loadPart(() => Promise.reject(new TypeError('gone')))).rejects.toThrow(LoadError)
  expect(await loadPart(() => Promise.resolve('a part'))).toBe('a part')
})

it.each([
  ['the browser is offline', false, 200] as const,
  ['the server is out of reach', true, 'unreachable'] as const,
])('says that there is no connection if %s, and stays', async (_case, isOnLine, status) => {
  vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(isOnLine)
  stubServer(status)
  await recover(new LoadError('lost'))
  expect(titles()).toEqual(['No connection'])
  expect(location.reload).not.toHaveBeenCalled()
})

it('takes that back once a part can be loaded', async () => {
  stubServer('unreachable')
  await recover(new LoadError('lost'))
  expect(titles()).toEqual(['No connection'])
  await loadPart(() => Promise.resolve('a part'))
  expect(titles()).toEqual([])
})

it('loads the page again if a file is gone, once, and then says so', async () => {
  stubServer(200)
  await recover(new LoadError('gone'))
  expect(location.reload).toHaveBeenCalledOnce()
  expect(titles()).toEqual([])
  await recover(new LoadError('gone'))
  expect(location.reload).toHaveBeenCalledOnce()
  expect(titles()).toEqual(['This part of the page could not be loaded'])
})

it('loads the page that was asked for', async () => {
  stubServer(200)
  await recover(new LoadError('gone'), { address: '/about#investors' })
  expect(location.assign).toHaveBeenCalledExactlyOnceWith('/about#investors')
})

it('never reloads where it could not know that it has', async () => {
  stubServer(200)
  vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError')
  })
  await recover(new LoadError('gone'))
  expect(location.reload).not.toHaveBeenCalled()
  expect(titles()).toEqual(['This part of the page could not be loaded'])
})

it('says nothing about a part that nobody has asked for', async () => {
  stubServer('unreachable')
  await recover(new LoadError('lost'), { isQuiet: true })
  expect(titles()).toEqual([])
})
