import { act, fireEvent, screen, within } from '@testing-library/react'
import { Dialog } from 'radix-ui'
import { expect, it, vi } from 'vitest'

import { TOAST_MS } from '@/lib/constants'
import { notify } from '@/lib/notices/notify'
import { renderFeature } from '@/testing/render'

const region = () => screen.getByRole('region', { name: 'Notifications' })

it('has screen readers know its region before the first toast comes into it', () => {
  renderFeature(null)
  expect(region()).toBeEmptyDOMElement()
  expect(region()).toHaveAttribute('aria-live', 'polite')
  act(() => notify.error('Video Error', 'Unable to play video content'))
  expect(within(region()).getByText('Video Error')).toBeInTheDocument()
  expect(region()).toHaveTextContent('Unable to play video content')
})

it('is neither hidden by an open dialog nor closes it', async () => {
  renderFeature(
    <Dialog.Root defaultOpen>
      <Dialog.Portal>
        <Dialog.Content aria-describedby={undefined}>
          <Dialog.Title>A dialog</Dialog.Title>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>,
  )
  act(() => notify.warning('Session will expire in 5 minutes'))
  expect(within(region()).getByText('Session will expire in 5 minutes')).toBeInTheDocument()
  expect(region().closest('[aria-hidden="true"]')).toBeNull()
  // Radix listens to presses outside of the dialog only after a moment.
  await act(() => vi.advanceTimersByTimeAsync(100))
  const close = screen.getByRole('button', { name: 'Close notification' })
  fireEvent.pointerDown(close)
  fireEvent.click(close)
  expect(region()).toBeEmptyDOMElement()
  expect(screen.getByRole('dialog')).toBeInTheDocument()
})

it('shows a toast for some seconds, and as long as the focus is on it', async () => {
  renderFeature(null)
  act(() => notify.success('Message received!'))
  act(() => screen.getByRole('button', { name: 'Close notification' }).focus())
  await act(() => vi.advanceTimersByTimeAsync(TOAST_MS))
  expect(region()).toHaveTextContent('Message received!')
  act(() => screen.getByRole('button', { name: 'Close notification' }).blur())
  await act(() => vi.advanceTimersByTimeAsync(TOAST_MS))
  expect(region()).toBeEmptyDOMElement()
})

it('shows a toast that is raised again once, and for as long as a new one', async () => {
  renderFeature(null)
  act(() => notify.error('Failed to load job roles'))
  await act(() => vi.advanceTimersByTimeAsync(TOAST_MS - 1000))
  act(() => notify.error('Failed to load job roles'))
  await act(() => vi.advanceTimersByTimeAsync(TOAST_MS - 1000))
  expect(within(region()).getAllByText('Failed to load job roles')).toHaveLength(1)
})

it('shows failures until what failed has succeeded', () => {
  renderFeature(null)
  act(() => {
    notify.error('Failed to load the squad')
    notify.error('Failed to load the table')
  })
  act(() => notify.withdraw('Failed to load the table'))
  expect(region()).not.toHaveTextContent('Failed to load the table')
  expect(region()).toHaveTextContent('Failed to load the squad')
  act(() => notify.success('It is all there'))
  expect(region()).not.toHaveTextContent('Failed')
  expect(region()).toHaveTextContent('It is all there')
})
