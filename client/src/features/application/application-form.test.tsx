import { fireEvent, screen, waitFor } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { csrfToken } from '@/lib/forms/csrf-token'
import { jsonResponse, stubBackend } from '@/testing/backend'
import { stubIntersection } from '@/testing/intersection'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'
import { visit } from '@/testing/visit'

import { ApplicationForm } from './application-form'
import { EMPTY } from './fields'
import { applicationSchema } from './schema'

const ROLES = [
  { id: 'r1', title: 'Groundskeeper' },
  { id: 'r2', title: 'Physio' },
]

function openForm(roleId?: string, respond = () => jsonResponse({ ok: true }, 200)) {
  const requests = stubBackend({ job_openings: ROLES }, { 'contact-notification': respond })
  renderFeature(<ApplicationForm choice={roleId === undefined ? undefined : { roleId }} />)
  return requests.filter.bind(requests, ({ table }) => table === 'contact-notification')
}

async function apply() {
  await user.type(screen.getByLabelText('Full Name'), ' Zoë O’Brien-Li ')
  await user.type(screen.getByLabelText('Email Address'), 'Zoe@Mail.Example')
  await user.click(screen.getByRole('button', { name: 'Submit Application' }))
}

const role = () => screen.getByLabelText<HTMLSelectElement>(/^Position You're Applying For/)

describe('the application form', () => {
  it('sends what was filled in with the chosen role, then starts over', async () => {
    const sent = openForm('r2')
    await waitFor(() => expect(role()).toHaveValue('r2'))
    const token = csrfToken()
    await apply()
    expect(
      await screen.findByText("Application submitted successfully! We'll be in touch soon."),
    ).toBeInTheDocument()
    expect(sent()[0]?.body).toEqual({
      record: {
        id: expect.any(String) as string,
        name: 'Zoë O’Brien-Li',
        email: 'zoe@mail.example',
        message: null,
        job_role_id: 'r2',
        job_role_title: 'Physio',
        user_id: null,
      },
      csrf_token: token,
      type: 'job_application',
    })
    expect(screen.getByLabelText('Full Name')).toHaveValue('')
    expect(csrfToken()).not.toBe(token)
  })

  it('needs no role, and offers those that are open', async () => {
    const sent = openForm()
    await screen.findByRole('option', { name: 'Groundskeeper' })
    expect([...role().options].map(({ text }) => text)).toEqual([
      'Select a position',
      'Groundskeeper',
      'Physio',
    ])
    expect(screen.getByLabelText(/^Your Message/)).toHaveAttribute('rows', '5')
    await apply()
    await screen.findByText(/^Application submitted/)
    expect(sent()[0]?.body).toMatchObject({ record: { job_role_id: null, job_role_title: null } })
  })

  it('takes the same role when it is chosen again', async () => {
    stubIntersection(true)
    stubBackend({ job_openings: ROLES })
    visit('/careers')
    const choose = async () =>
      user.click(await screen.findByRole('button', { name: 'Get in touch about Physio' }))
    await choose()
    await waitFor(() => expect(role()).toHaveValue('r2'))
    fireEvent.change(role(), { target: { value: 'r1' } })
    expect(role()).toHaveValue('r1')
    await choose()
    await waitFor(() => expect(role()).toHaveValue('r2'))
  })

  it('keeps the values where sending fails', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    openForm(undefined, () => jsonResponse({ error: 'closed' }, 500))
    await apply()
    expect(
      await screen.findByText('Failed to submit application. Please try again later.'),
    ).toBeInTheDocument()
    expect(screen.getByLabelText('Email Address')).toHaveValue('Zoe@Mail.Example')
  })

  it('takes two applications in ten minutes', async () => {
    localStorage.setItem('job_application', JSON.stringify([Date.now() - 2000, Date.now() - 1000]))
    const sent = openForm()
    await apply()
    expect(
      await screen.findByText('Too many attempts. Please wait 10 minutes before trying again.'),
    ).toBeInTheDocument()
    expect(sent()).toHaveLength(0)
  })

  it('says what is wrong beside the field and in a toast', async () => {
    openForm()
    await user.click(screen.getByRole('button', { name: 'Submit Application' }))
    expect(await screen.findAllByText('Name must be at least 2 characters')).toHaveLength(2)
    expect(screen.getByLabelText('Email Address')).toHaveAccessibleDescription(
      'Please enter a valid email address',
    )
  })

  it('says when the roles cannot be loaded', async () => {
    stubBackend({ job_openings: 'failure' })
    renderFeature(<ApplicationForm choice={undefined} />)
    expect(await screen.findByText('Failed to load job roles')).toBeInTheDocument()
  })

  it('leads visitors to the login and everybody to the policy', () => {
    openForm()
    expect(screen.getByRole('link', { name: 'Login here' })).toHaveAttribute('href', '/auth')
    expect(screen.getByText(/protected against automated submissions/)).toBeInTheDocument()
    expect(screen.getByRole('link', { name: 'privacy policy' })).toHaveAttribute('href', '/privacy')
  })
})

describe('the rules of an application', () => {
  const good = { ...EMPTY, name: 'Ada Li', email: 'ada@club.example' }

  it.each([
    [{ name: 'A' }, 'Name must be at least 2 characters'],
    [{ name: 'x'.repeat(101) }, 'Name must be under 100 characters'],
    [{ name: 'R2-D2' }, 'Name can only contain letters, spaces, hyphens, and apostrophes'],
    [{ email: 'nobody' }, 'Please enter a valid email address'],
    [{ email: `${'a'.repeat(250)}@b.cd` }, 'Email must be under 254 characters'],
    [{ message: 'x'.repeat(2001) }, 'Message must be under 2000 characters'],
    [
      { message: '<script>' },
      'Invalid content detected. Please remove any HTML, scripts, or special formatting.',
    ],
  ])('refuse %j', (change, message) => {
    const { error } = applicationSchema.safeParse({ ...good, ...change })
    expect(error?.issues.map((issue) => issue.message)).toEqual([message])
  })

  it('take names of any script', () => {
    for (const name of ['José', "D'Arcy", 'Łukasz Żak', '陈伟', 'Ana-Marie'])
      expect(applicationSchema.safeParse({ ...good, name }).success).toBe(true)
  })
})
