import { act, screen, within } from '@testing-library/react'
import { Dialog } from 'radix-ui'
import { expect, it } from 'vitest'

import { notify } from '@/lib/notices/notify'
import { renderFeature } from '@/testing/render'

const live = () => document.querySelector<HTMLElement>('[aria-live="polite"]')

it('has screen readers know its region before the first toast comes into it', async () => {
  renderFeature(null)
  const region = live()
  expect(region).toBeEmptyDOMElement()
  act(() => notify.error('Video Error', 'Unable to play video content'))
  expect(await screen.findByText('Video Error')).toBeInTheDocument()
  expect(region).toHaveTextContent('Unable to play video content')
})

it('is not hidden by an open dialog', async () => {
  renderFeature(
    <Dialog.Root open>
      <Dialog.Portal>
        <Dialog.Content aria-describedby={undefined}>
          <Dialog.Title>A dialog</Dialog.Title>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>,
  )
  expect(screen.getByRole('dialog')).toBeInTheDocument()
  act(() => notify.warning('Session will expire in 5 minutes'))
  const region = await screen.findByRole('region', { name: /^Notifications/ })
  expect(await within(region).findByText('Session will expire in 5 minutes')).toBeInTheDocument()
  expect(region.closest('[aria-hidden="true"]')).toBeNull()
})
