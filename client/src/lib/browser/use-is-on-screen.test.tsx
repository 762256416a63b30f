import { render, screen } from '@testing-library/react'
import { useRef } from 'react'
import { expect, it } from 'vitest'

import { stubIntersection } from '@/testing/intersection'

import { useIsOnScreen } from './use-is-on-screen'

function Probe() {
  const ref = useRef<HTMLParagraphElement>(null)
  return <p ref={ref}>{useIsOnScreen(ref) ? 'seen' : 'unseen'}</p>
}

it('counts the element as visible until the browser has checked', () => {
  render(<Probe />)
  expect(screen.getByText('seen')).toBeInTheDocument()
})

it('follows what the browser says', () => {
  const { scrollTo, scrollAwayFrom, isWatched } = stubIntersection()
  const { unmount } = render(<Probe />)
  const element = screen.getByText('unseen')
  scrollTo(element)
  expect(element).toHaveTextContent('seen')
  scrollAwayFrom(element)
  expect(element).toHaveTextContent('unseen')
  unmount()
  expect(isWatched(element)).toBe(false)
})
