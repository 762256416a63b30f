import { render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

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
