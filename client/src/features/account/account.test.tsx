import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { renderToStaticMarkup } from 'react-dom/server'
import { MemoryRouter } from 'react-router-dom'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { rememberServedFields } from '@/lib/loading/served-fields'
import { rememberServedScreen } from '@/lib/loading/served-screen'
import { getSupabase } from '@/lib/supabase/get-supabase'
import { jsonResponse, stubBackend } from '@/testing/backend'
import { testSession } from '@/testing/session'
import { user } from '@/testing/user'
import { visit } from '@/testing/visit'

import { AccountFirstScreen } from './account'
import { loginError } from './login-form'
import { isPasswordOld, loadProfile, securityLevel } from './profile'

const PROFILE = { email: 'ada@club.example', full_name: 'Ada Quist', avatar_url: null }
const ROLES = [{ role: 'admin' }, { role: 'staff' }]

const responses = (over: Record<string, () => Response> = {}) => ({
  token: () => jsonResponse(testSession(), 200),
  logout: () => new Response(null, { status: 204 }),
  validate_session_integrity: () => jsonResponse(true, 200),
  ...over,
})

async function logIn() {
  await user.type(await screen.findByLabelText('Email'), 'ada@club.example')
  await user.type(screen.getByLabelText('Password'), 'kick-off')
  await user.click(screen.getByRole('button', { name: 'Log in' }))
}

async function openCard(over?: Record<string, () => Response>) {
  stubBackend({ profiles: [PROFILE], user_roles: ROLES }, responses(over))
  const { auth } = await getSupabase()
  await auth.signInWithPassword({ email: 'ada@club.example', password: 'kick-off' })
  visit('/auth')
  return screen.findByRole('region', { name: 'Profile' })
}

describe('the login', () => {
  afterEach(async () => {
    stubBackend({}, responses())
    await (await getSupabase()).auth.signOut()
  })

  it('signs in and leads to the home page', async () => {
    const requests = stubBackend({ profiles: [PROFILE], user_roles: ROLES }, responses())
    visit('/auth')
    await logIn()
    expect(await screen.findByText('Successfully logged in!')).toBeInTheDocument()
    expect(await screen.findByText('Discover')).toBeInTheDocument()
    expect(screen.getByRole('link', { name: 'Profile' })).toHaveAttribute('href', '/auth')
    const request = requests.find(({ table }) => table === 'token')
    expect(request?.body).toMatchObject({ email: 'ada@club.example', password: 'kick-off' })
  })

  it('needs both fields', async () => {
    stubBackend()
    visit('/auth')
    await user.click(await screen.findByRole('button', { name: 'Log in' }))
    expect(await screen.findAllByText('Please fill in this field.')).toHaveLength(2)
  })

  it('has what was typed into the first screen, with the focus', () => {
    stubBackend()
    const served = document.createElement('div')
    document.body.append(served)
    served.innerHTML = renderToStaticMarkup(
      <MemoryRouter>
        <AccountFirstScreen />
      </MemoryRouter>,
    )
    const screenOfServer = within(served)
    expect(screenOfServer.getByRole('button', { name: 'Log in' })).toBeDisabled()
    rememberServedScreen(served)
    rememberServedFields(served)
    fireEvent.input(screenOfServer.getByLabelText('Email'), { target: { value: 'ada@' } })
    const password = screenOfServer.getByLabelText('Password')
    fireEvent.input(password, { target: { value: 'kick-off' } })
    password.focus()
    served.remove()
    visit('/auth')
    expect(screen.getByLabelText('Email')).toHaveValue('ada@')
    expect(screen.getByLabelText('Password')).toHaveValue('kick-off')
    expect(screen.getByLabelText('Password')).toHaveFocus()
    expect(screen.getByRole('button', { name: 'Log in' })).toBeEnabled()
  })

  it('shows and hides the password, and leads back home', async () => {
    stubBackend()
    visit('/auth')
    const password = await screen.findByLabelText('Password')
    await user.click(screen.getByRole('button', { name: 'Show password' }))
    expect(password).toHaveAttribute('type', 'text')
    await user.click(screen.getByRole('button', { name: 'Hide password' }))
    expect(password).toHaveAttribute('type', 'password')
    expect(screen.getByRole('link', { name: 'Back to Home' })).toHaveAttribute('href', '/')
  })

  it('welcomes those who come from the confirmation mail', async () => {
    stubBackend()
    visit('/auth?verified=true')
    expect(await screen.findByText(/^Your e-mail address is confirmed/)).toBeInTheDocument()
  })

  it('says why it refuses', async () => {
    const refusal = { code: 'invalid_credentials', msg: 'Invalid login credentials' }
    stubBackend({}, responses({ token: () => jsonResponse(refusal, 400) }))
    visit('/auth')
    await logIn()
    const text = 'Invalid email or password. Please check your credentials and try again.'
    expect((await screen.findAllByText(text)).length).toBeGreaterThan(0)
  })

  it('says so where no server answers', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    const fails = () => {
      throw new TypeError('Failed to fetch')
    }
    stubBackend({}, responses({ token: fails }))
    visit('/auth')
    await logIn()
    const text = 'An error occurred during login. Please try again.'
    expect((await screen.findAllByText(text)).length).toBeGreaterThan(0)
    expect(screen.queryByText('Failed to fetch')).toBeNull()
  })

  it.each([
    ['AuthApiError: Invalid login credentials', /^Invalid email or password\./],
    ['Email not confirmed', /^Please check your email and click the confirmation link/],
    ['The stadium is closed', /^The stadium is closed$/],
    ['', /^An error occurred during login\. Please try again\.$/],
  ])('tells %j as %s', (message, text) => {
    expect(loginError(message)).toMatch(text)
  })
})

describe('the profile card', () => {
  beforeEach(() => void vi.spyOn(console, 'error').mockReturnValue())
  afterEach(async () => {
    stubBackend({}, responses())
    await (await getSupabase()).auth.signOut()
  })

  it('shows who is signed in', async () => {
    const card = await openCard()
    expect(await screen.findByText('Ada Quist')).toBeInTheDocument()
    expect(screen.getByText('ada@club.example')).toBeInTheDocument()
    expect(screen.getByText('AQ')).toBeInTheDocument()
    const badges = await screen.findByRole('list', { name: 'Roles' })
    expect([...badges.children].map(({ textContent }) => textContent)).toEqual(['admin', 'staff'])
    expect(screen.getByRole('button', { name: 'Account Settings' })).toBeDisabled()
    await waitFor(() => expect(card.querySelector('[data-level=good]')).not.toBeNull())
  })

  it('signs out', async () => {
    await openCard()
    await user.click(screen.getByRole('button', { name: 'Logout' }))
    expect(await screen.findByText('Logged out successfully')).toBeInTheDocument()
    expect(await screen.findByRole('button', { name: 'Log in' })).toBeInTheDocument()
    expect(screen.queryByText('Ada Quist')).toBeNull()
  })

  it('waits three tenths of a second before it signs out', async () => {
    await openCard()
    const { auth } = await getSupabase()
    const signOut = vi.spyOn(auth, 'signOut')
    vi.useFakeTimers()
    fireEvent.click(screen.getByRole('button', { name: 'Logout' }))
    expect(screen.getByRole('button', { name: 'Logging out...' })).toBeDisabled()
    await act(() => vi.advanceTimersByTimeAsync(299))
    expect(signOut).not.toHaveBeenCalled()
    await act(() => vi.advanceTimersByTimeAsync(1))
    expect(signOut).toHaveBeenCalledOnce()
  })

  it('says where signing out fails', async () => {
    await openCard({ logout: () => jsonResponse({ msg: 'down' }, 500) })
    await user.click(screen.getByRole('button', { name: 'Logout' }))
    expect(await screen.findByText('Error logging out')).toBeInTheDocument()
  })
})

describe('loading a profile', () => {
  beforeEach(() => void vi.spyOn(console, 'error').mockReturnValue())
  afterEach(() => void vi.useRealTimers())

  it.each([
    ['no profile', { profiles: [] }, ['Profile not found']],
    ['a failing table', { profiles: 'failure' }, ['Error loading profile']],
    ['failing roles', { profiles: [PROFILE], user_roles: 'failure' }, ['Error loading user roles']],
  ] as const)('tells %s', async (_case, tables, problems) => {
    stubBackend(tables)
    expect((await loadProfile('u')).problems).toEqual(problems)
  })

  it('reports what fails', async () => {
    const supabase = await getSupabase()
    vi.spyOn(supabase, 'from').mockImplementation(() => {
      throw new Error('broken')
    })
    expect((await loadProfile('u')).problems).toEqual(['Error loading user data'])
  })

  it('gives up after eight seconds', async () => {
    await getSupabase()
    vi.useFakeTimers()
    vi.stubGlobal('fetch', () => new Promise(() => {}))
    const loading = loadProfile('u')
    await vi.advanceTimersByTimeAsync(8000)
    expect((await loading).problems).toEqual(['Error loading profile data'])
  })
})

describe('the security level', () => {
  const { user } = testSession()
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  const withPassword = (changed: unknown) => ({
    ...user,
    user_metadata: { password_updated_at: changed },
  })

  it('is an error if the server does not accept the session', () => {
    expect(securityLevel(user, false)).toEqual({
      level: 'error',
      text: 'Security validation failed. Please sign out and back in.',
    })
  })

  it('is a warning where the password is older than ninety days', () => {
    expect(securityLevel(withPassword(daysAgo(91)), true)).toEqual({
      level: 'warning',
      text: 'Your password is over 90 days old. Consider updating it.',
    })
  })

  it('is good otherwise', () => {
    expect(securityLevel(withPassword(daysAgo(89)), true).level).toBe('good')
    expect(isPasswordOld(withPassword('soon'))).toBe(false)
    expect(isPasswordOld(withPassword(undefined))).toBe(false)
  })
})
