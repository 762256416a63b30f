import { render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { stubIntersection } from '@/testing/intersection'

import { Reveal } from './reveal'

it('hides what is below the screen, and lets it rise once when it comes into view', () => {
  const { scrollTo, isWatched } = stubIntersection()
  render(<Reveal delayMs={200}>Risen</Reveal>)
  const element = screen.getByText('Risen')
  expect(element).toHaveStyle({ opacity: '0' })
  scrollTo(element)
  expect(element).not.toHaveStyle({ opacity: '0' })
  expect(element.animate).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ opacity: [0, 1] }),
    expect.objectContaining({ delay: 200 }),
  )
  expect(isWatched(element)).toBe(false)
})

it('leaves alone what is on the screen already', () => {
  const { isWatched } = stubIntersection(true)
  render(<Reveal>Seen</Reveal>)
  const element = screen.getByText('Seen')
  expect(isWatched(element)).toBe(false)
  expect(element).not.toHaveStyle({ opacity: '0' })
  expect(element.animate).not.toHaveBeenCalled()
})

it('leaves alone what is beside the screen, where it is swiped to', () => {
  const { isWatched } = stubIntersection(false, window.innerWidth)
  render(<Reveal>Beside</Reveal>)
  expect(isWatched(screen.getByText('Beside'))).toBe(false)
  expect(screen.getByText('Beside')).not.toHaveStyle({ opacity: '0' })
})

it('moves nothing where motion is unwelcome', () => {
  const { isWatched } = stubIntersection()
  vi.stubGlobal('matchMedia', (query: string) => ({
    matches: query === '(prefers-reduced-motion: reduce)',
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  }))
  render(<Reveal>Still</Reveal>)
  expect(isWatched(screen.getByText('Still'))).toBe(false)
  expect(screen.getByText('Still')).not.toHaveStyle({ opacity: '0' })
})
