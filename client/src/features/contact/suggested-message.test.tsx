import { act, screen } from '@testing-library/react'
import { expect, it } from 'vitest'

import { suggestMessage } from '@/lib/forms/suggested-message'
import { jsonResponse, stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { Contact } from './contact'

const message = () => screen.getByLabelText<HTMLTextAreaElement>(/^Message/)

function open() {
  const accept = () => jsonResponse({ ok: true }, 200)
  const requests = stubBackend({ settings: [] }, { 'contact-notification': accept })
  renderFeature(<Contact />)
  return requests
}

it('writes a suggested text into the message, and a new one in its place', () => {
  open()
  act(() => suggestMessage('A first text.'))
  expect(message()).toHaveValue('A first text.')
  act(() => suggestMessage('A second text.'))
  expect(message()).toHaveValue('A second text.')
})

it('keeps what was typed, and sends both', async () => {
  const requests = open()
  await user.type(screen.getByLabelText(/^Name/), 'Ada Quist')
  await user.type(screen.getByLabelText(/^Company/), 'Harbour Row')
  await user.type(screen.getByLabelText(/^Email/), 'ada@club.example')
  await user.type(message(), 'We play in blue.')
  act(() => suggestMessage('A first text.'))
  act(() => suggestMessage('A second text.'))
  expect(message()).toHaveValue('We play in blue.\n\nA second text.')
  await user.click(screen.getByRole('button', { name: 'Book a demo' }))
  expect(await screen.findByText('Message received!')).toBeInTheDocument()
  const sent = requests.find(({ table }) => table === 'contact-notification')
  expect(sent?.body).toMatchObject({
    record: { message: 'We play in blue.\n\nA second text.' },
  })
})

it('leaves a message alone that has no room for the text', () => {
  open()
  const typed = 'x'.repeat(1995)
  message().setRangeText(typed)
  act(() => suggestMessage('Too long.'))
  expect(message()).toHaveValue(typed)
})
