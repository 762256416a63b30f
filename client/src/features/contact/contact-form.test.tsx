import { fireEvent, screen, waitFor } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { csrfToken } from '@/lib/forms/csrf-token'
import { jsonResponse, stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { ContactForm } from './contact-form'

const accept = () => jsonResponse({ ok: true }, 200)

function openForm(respond: () => Response | Promise<Response> = accept) {
  const requests = stubBackend({}, { 'contact-notification': respond })
  renderFeature(<ContactForm />)
  return requests.filter.bind(requests, ({ table }) => table === 'contact-notification')
}

const field = (label: RegExp) => screen.getByLabelText<HTMLInputElement>(label)

async function fill(values: { name?: string; company?: string; email?: string; message?: string }) {
  const { name = 'Ada Quist', company = 'Harbour Row', email = 'Ada@Club.Example ' } = values
  await user.type(field(/^Name/), name)
  await user.type(field(/^Company/), company)
  await user.type(field(/^Email/), email)
  if (values.message) await user.type(field(/^Message/), values.message)
}

const press = () => user.click(screen.getByRole('button', { name: 'Book a demo' }))

describe('the contact form', () => {
  it('sends what was filled in, then is empty again with a new token', async () => {
    const sent = openForm()
    const token = csrfToken()
    await fill({ message: 'What (roughly) does it cost?' })
    await press()
    expect(await screen.findByText('Message received!')).toBeInTheDocument()
    expect(
      screen.getByText(
        'Our team will contact you shortly to discuss how the product can benefit your brand.',
      ),
    ).toBeInTheDocument()
    expect(sent()[0]?.body).toEqual({
      record: {
        id: expect.stringMatching(
          /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        ) as string,
        name: 'Ada Quist',
        company: 'Harbour Row',
        email: 'ada@club.example',
        message: 'What (roughly) does it cost?',
      },
      csrf_token: token,
      type: 'contact_submission',
    })
    expect(field(/^Name/)).toHaveValue('')
    expect(csrfToken()).not.toBe(token)
  })

  it('sends null for a message that was left out', async () => {
    const sent = openForm()
    await fill({})
    await press()
    await screen.findByText('Message received!')
    expect(sent()[0]?.body).toMatchObject({ record: { message: null } })
  })

  it('is busy while it sends', async () => {
    let respond: (response: Response) => void = () => {}
    openForm(() => new Promise((resolve) => (respond = resolve)))
    await fill({})
    await press()
    const button = await screen.findByRole('button', { name: 'Submitting...' })
    expect(button).toBeDisabled()
    respond(accept())
    expect(await screen.findByRole('button', { name: 'Book a demo' })).toBeEnabled()
  })

  it('names what is missing', async () => {
    const sent = openForm()
    await press()
    expect(await screen.findByText('Missing required fields')).toBeInTheDocument()
    expect(screen.getByText('Please fill in all required fields')).toBeInTheDocument()
    expect(field(/^Name/)).toHaveAccessibleDescription('Please fill in this field.')
    expect(field(/^Name/)).toBeInvalid()
    expect(sent()).toHaveLength(0)
  })

  it('says why input is refused, in the toast and beside the field', async () => {
    openForm()
    await fill({ name: 'Ada <3' })
    await press()
    const texts = await screen.findAllByText('Name contains invalid special characters.')
    expect(texts).toHaveLength(2)
    expect(field(/^Name/)).toHaveAccessibleDescription('Name contains invalid special characters.')
  })

  it('keeps the values where sending fails', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    openForm(() => jsonResponse({ error: 'closed' }, 500))
    const token = csrfToken()
    await fill({})
    await press()
    expect(await screen.findByText('Something went wrong')).toBeInTheDocument()
    expect(
      screen.getByText("We couldn't process your request. Please try again later."),
    ).toBeInTheDocument()
    expect(field(/^Name/)).toHaveValue('Ada Quist')
    expect(csrfToken()).toBe(token)
  })

  it.each([
    [/^Name/, 'Name', 100],
    [/^Company/, 'Company', 200],
    [/^Email/, 'Email', 254],
    [/^Message/, 'Message', 2000],
  ])('refuses typing past the limit of %s', async (label, name, limit) => {
    openForm()
    fireEvent.focus(field(label))
    fireEvent.change(field(label), { target: { value: 'x'.repeat(limit) } })
    fireEvent.change(field(label), { target: { value: 'x'.repeat(limit + 1) } })
    expect(field(label).value).toHaveLength(limit)
    expect(
      await screen.findByText(`Input too long: ${name} must be under ${limit} characters`),
    ).toBeInTheDocument()
  })

  it('takes three submissions in ten minutes', async () => {
    const now = Date.now()
    localStorage.setItem(
      'contact_submissions',
      JSON.stringify([now - 9000, now - 8000, now - 7000]),
    )
    const sent = openForm()
    await fill({})
    await press()
    expect(
      await screen.findByText('Too many attempts. Please wait 10 minutes before trying again.'),
    ).toBeInTheDocument()
    await waitFor(() => expect(screen.getByRole('button', { name: 'Book a demo' })).toBeEnabled())
    expect(sent()).toHaveLength(0)
  })
})
