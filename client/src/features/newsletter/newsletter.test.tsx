import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { beforeEach, describe, expect, it, vi } from 'vitest'

import { jsonResponse, stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { FooterForm } from './footer-form'
import { isIpAddress } from './ip-lookup'
import PopupDialog from './popup-dialog'

type Insert = () => Response | Promise<Response>

const accept: Insert = () => new Response(null, { status: 201 })
const refuse = (code: string) => () => jsonResponse({ code, message: 'no' }, 409)

function open(form: 'footer' | 'popup', insert: Insert = accept, onClose = vi.fn()) {
  const Form = form === 'footer' ? FooterForm : PopupDialog
  const requests = stubBackend({}, { newsletter_subscriptions: insert, '': ip })
  renderFeature(<Form onClose={onClose} />)
  return requests.filter.bind(requests, ({ table }) => table === 'newsletter_subscriptions')
}

let address: unknown
const ip = () => jsonResponse({ ip: address }, 200)

const email = () => screen.getByLabelText<HTMLInputElement>('Email address')

async function subscribe(value = ' Fan@Club.Example') {
  await user.clear(email())
  await user.type(email(), value)
  if (!screen.getByRole<HTMLInputElement>('checkbox').checked)
    await user.click(screen.getByRole('checkbox'))
  await user.click(screen.getByRole('button', { name: /^Subscribe/ }))
}

let minutes = 0

beforeEach(() => {
  // The limit is kept in memory for as long as the page is open; each test comes ten minutes later.
  vi.setSystemTime(Date.now() + ++minutes * 600_000)
  address = '203.0.113.7'
})

describe('the footer’s form', () => {
  it('can be sent once there are an address and consent', async () => {
    open('footer')
    const button = screen.getByRole('button', { name: 'Subscribe' })
    expect(button).toBeDisabled()
    await user.type(email(), 'fan@club.example')
    expect(button).toBeDisabled()
    await user.click(screen.getByRole('checkbox'))
    await waitFor(() => expect(button).toBeEnabled())
  })

  it('puts the address on the list and says so for three seconds', async () => {
    const sent = open('footer')
    await subscribe()
    expect(await screen.findByText('Successfully subscribed to newsletter!')).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Subscribed ✓' })).toBeDisabled()
    expect(sent()[0]?.body).toEqual({
      email: 'fan@club.example',
      consent_given: true,
      ip_address: '203.0.113.7',
      user_id: null,
      csrf_token: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    })
    await act(() => vi.advanceTimersByTimeAsync(3000))
    expect(screen.getByRole('button', { name: 'Subscribe' })).toBeInTheDocument()
  })

  it('leaves out an address that is none', async () => {
    address = 'localhost'
    const sent = open('footer')
    await subscribe()
    await screen.findByText('Successfully subscribed to newsletter!')
    expect(sent()[0]?.body).toMatchObject({ ip_address: null })
  })

  it.each([
    ['23505', 'This email is already subscribed to our newsletter.'],
    ['PGRST301', 'Newsletter service is temporarily unavailable. Please try again later.'],
    ['XX000', 'Failed to subscribe. Please try again later.'],
  ])('tells the error %s in its words', async (code, text) => {
    open('footer', refuse(code))
    await subscribe()
    expect(await screen.findByText(text)).toBeInTheDocument()
    expect(email()).toHaveValue('Fan@Club.Example')
  })

  it('reports a lost connection', async () => {
    open('footer', () => Promise.reject(new TypeError('Failed to fetch')))
    await subscribe()
    expect(
      await screen.findByText('Failed to subscribe. Please check your connection and try again.'),
    ).toBeInTheDocument()
  })

  it.each([
    ['a@b', 'Please enter a valid email address'],
    ['nobody', 'Please enter a valid email address'],
    ['"fan"@club.example', 'Invalid email format'],
  ])('refuses %s', async (value, text) => {
    const sent = open('footer')
    await subscribe(value)
    expect((await screen.findAllByText(text)).length).toBeGreaterThan(1)
    expect(sent()).toHaveLength(0)
  })

  it('refuses typing what is too long, and tags', async () => {
    open('footer')
    fireEvent.focus(email())
    fireEvent.change(email(), { target: { value: 'x'.repeat(255) } })
    expect(
      await screen.findByText('Email address must be under 254 characters.'),
    ).toBeInTheDocument()
    fireEvent.change(email(), { target: { value: '<b' } })
    expect(await screen.findByText('Invalid characters in email address.')).toBeInTheDocument()
    expect(email()).toHaveValue('')
  })

  it('takes two attempts in five minutes', async () => {
    const sent = open('footer', refuse('XX000'))
    for (let attempt = 1; attempt <= 3; attempt++) {
      await subscribe()
      await waitFor(() => expect(sent()).toHaveLength(Math.min(attempt, 2)))
      await screen.findByRole('button', { name: 'Subscribe' })
    }
    expect(
      await screen.findByText('Too many attempts. Please wait a few minutes before trying again.'),
    ).toBeInTheDocument()
  })
})

describe('the popup’s form', () => {
  it('begins with the focus on its heading, so that no phone opens its keyboard over the offer', () => {
    open('popup')
    expect(screen.getByRole('heading', { name: /^Stay Ahead of the Game/ })).toHaveFocus()
  })

  it('subscribes without a token, then closes', async () => {
    const onClose = vi.fn()
    const sent = open('popup', accept, onClose)
    await subscribe()
    expect(await screen.findByText('Success!')).toBeInTheDocument()
    expect(screen.getByText('Thank you for subscribing to our newsletter.')).toBeInTheDocument()
    expect(onClose).toHaveBeenCalledOnce()
    expect(sent()[0]?.body).not.toHaveProperty('csrf_token')
  })

  it('stays open for an address that is on the list', async () => {
    const onClose = vi.fn()
    open('popup', refuse('23505'), onClose)
    await subscribe()
    expect(await screen.findByText('Already subscribed')).toBeInTheDocument()
    expect(onClose).not.toHaveBeenCalled()
  })

  it('reports other failures', async () => {
    open('popup', refuse('XX000'))
    await subscribe()
    expect(await screen.findByText('Subscription failed')).toBeInTheDocument()
    expect(
      screen.getByText('There was a problem with your subscription. Please try again later.'),
    ).toBeInTheDocument()
  })

  it('asks for what is missing', async () => {
    open('popup')
    await user.click(screen.getByRole('button', { name: 'Subscribe' }))
    await vi.waitFor(() => expect(screen.getAllByText('Email is required')).toHaveLength(2))
    expect(screen.getByText('Consent is required')).toBeInTheDocument()
  })

  it('refuses typing what is too long under a title of its own', async () => {
    open('popup')
    fireEvent.focus(email())
    fireEvent.change(email(), { target: { value: 'x'.repeat(255) } })
    expect(await screen.findByText('Email too long')).toBeInTheDocument()
  })

  it.each(['No, thanks', 'Close'])('closes by %s', async (name) => {
    const onClose = vi.fn()
    open('popup', accept, onClose)
    await user.click(screen.getByRole('button', { name }))
    expect(onClose).toHaveBeenCalledOnce()
  })
})

it.each([
  ['203.0.113.7', true],
  ['2001:db8::1', true],
  ['::ffff:203.0.113.7', true],
  ['1:2:3', false],
  ['::1::2', false],
  ['::1]/x', false],
  ['256.1.1.1', false],
  ['1.2.3', false],
  ['somewhere', false],
  [undefined, false],
])('%s has the shape of an internet address: %s', (text, is) => {
  expect(isIpAddress(text)).toBe(is)
})
