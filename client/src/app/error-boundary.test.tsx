import { act, render, screen } from '@testing-library/react'
import { Suspense } from 'react'
import { expect, it, vi } from 'vitest'

import { split } from '@/lib/loading/split'

import { ErrorBoundary } from './error-boundary'

function Broken(): never {
  throw new Error('a file of the page is gone')
}

it('says that a page cannot be shown and offers to load it again', () => {
  vi.spyOn(console, 'error').mockReturnValue()
  render(
    <ErrorBoundary>
      <Broken />
    </ErrorBoundary>,
  )
  expect(screen.getByText('This page could not be shown. Please try again.')).toBeInTheDocument()
  expect(screen.getByRole('button', { name: 'Try Again' })).toBeInTheDocument()
})

it('leaves out a part that has something to stand in for it', () => {
  vi.spyOn(console, 'error').mockReturnValue()
  render(
    <>
      <p>The page</p>
      <ErrorBoundary fallback={null}>
        <Broken />
      </ErrorBoundary>
    </>,
  )
  expect(screen.getByText('The page')).toBeInTheDocument()
  expect(screen.queryByRole('button')).toBeNull()
})

it('shows a part that could not be loaded as soon as the browser is online', async () => {
  vi.spyOn(console, 'error').mockReturnValue()
  vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false)
  const load = vi.fn(() => Promise.resolve({ default: () => <p>A part</p> }))
  load.mockRejectedValueOnce(new TypeError('offline'))
  const Part = split(load)
  render(
    <ErrorBoundary>
      <Suspense>
        <Part />
      </Suspense>
    </ErrorBoundary>,
  )
  expect(await screen.findByText(/^This page could not be loaded/)).toBeInTheDocument()
  await act(async () => {
    window.dispatchEvent(new Event('online'))
    await Promise.resolve()
  })
  expect(await screen.findByText('A part')).toBeInTheDocument()
})
