import { act, render, screen } from '@testing-library/react'
import { useRef } from 'react'
import { expect, it, vi } from 'vitest'

import { useIsOnScreen } from './use-is-on-screen'

function Probe() {
  const ref = useRef<HTMLParagraphElement>(null)
  return <p ref={ref}>{useIsOnScreen(ref) ? 'seen' : 'unseen'}</p>
}

it('follows what the browser says, and takes the element to be seen before', () => {
  let say: (isIntersecting: boolean) => void = () => undefined
  const disconnect = vi.fn()
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      constructor(callback: (entries: { isIntersecting: boolean }[]) => void) {
        say = (isIntersecting) => callback([{ isIntersecting }])
      }
      observe() {}
      disconnect = disconnect
    },
  )
  const { unmount } = render(<Probe />)
  expect(screen.getByText('seen')).toBeInTheDocument()
  act(() => say(false))
  expect(screen.getByText('unseen')).toBeInTheDocument()
  act(() => say(true))
  expect(screen.getByText('seen')).toBeInTheDocument()
  unmount()
  expect(disconnect).toHaveBeenCalledOnce()
})
