import { screen, waitFor } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { jsonResponse, stubBackend } from '@/testing/backend'
import { user } from '@/testing/user'
import { visit } from '@/testing/visit'

const FLAG = 'site_authenticated'
const on = [{ value: '"1"' }]
const off = [{ value: '0' }]

const SESSION = {
  access_token: 'header.payload.signature',
  refresh_token: 'r',
  token_type: 'bearer',
  expires_in: 3600,
  user: { id: 'u', email: 'site-access@terrace.example' },
}

const home = () => screen.findByText('Discover')
const form = () => screen.findByRole('heading', { name: 'Password Protected' })

/** Returns a closed site, whose password is every password. */
const stubKnownPassword = () =>
  stubBackend(
    { settings: on },
    { token: () => jsonResponse(SESSION, 200), logout: () => new Response(null, { status: 204 }) },
  )

/** Returns the time at which the page first has the text, in milliseconds of the tests' clock. */
function firstSight(text: string) {
  return new Promise<number>((resolve) => {
    const watch = new MutationObserver(() => {
      if (screen.queryAllByText(text).length === 0) return
      watch.disconnect()
      resolve(Date.now())
    })
    watch.observe(document.body, { childList: true, subtree: true })
  })
}

async function enter(password: string) {
  await form()
  await user.type(screen.getByLabelText('Password'), password)
  await user.click(screen.getByRole('button', { name: 'Access Site' }))
}

describe('the password gate', () => {
  it('says that it is checking', async () => {
    stubBackend({ settings: on })
    visit('/password')
    expect((await screen.findAllByText('Checking authentication...')).length).toBeGreaterThan(0)
  })

  it('lets everybody in where the site is open, and remembers it', async () => {
    stubBackend({ settings: off })
    visit('/password')
    await home()
    expect(localStorage.getItem(FLAG)).toBe('true')
  })

  it('asks where the site is closed', async () => {
    stubBackend({ settings: on })
    visit('/password')
    await form()
    expect(localStorage.getItem(FLAG)).toBeNull()
  })

  it.each([['on', on] as const, ['unreadable', 'failure'] as const])(
    'lets those in whom it remembers where the setting is %s',
    async (_state, settings) => {
      vi.spyOn(console, 'error').mockReturnValue()
      localStorage.setItem(FLAG, 'true')
      stubBackend({ settings })
      visit('/password')
      await home()
    },
  )

  it('asks where the setting cannot be read and nobody is remembered', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    stubBackend({ settings: 'failure' })
    visit('/password')
    await form()
  })

  it('lets in whoever knows the password of the shared account', async () => {
    const requests = stubKnownPassword()
    visit('/password')
    await enter('open sesame')
    await waitFor(() => expect(localStorage.getItem(FLAG)).toBe('true'))
    await home()
    expect(requests.find(({ table }) => table === 'token')?.body).toMatchObject({
      email: 'site-access@terrace.example',
      password: 'open sesame',
    })
    expect(localStorage.getItem('terrace-auth')).toBeNull()
  })

  it('says where it leads, for a tenth of a second', async () => {
    stubKnownPassword()
    visit('/password')
    const [announced, arrived] = [firstSight('Redirecting to site...'), firstSight('Discover')]
    await enter('open sesame')
    // The clock moves on between a change and the look at it: by some steps, never by a second.
    const waited = (await arrived) - (await announced)
    expect(waited).toBeGreaterThanOrEqual(100)
    expect(waited).toBeLessThan(1000)
  })

  it('takes a refusal back once the password is right', async () => {
    const refusal = { code: 'invalid_credentials', msg: 'Invalid login credentials' }
    const answers = [jsonResponse(refusal, 400), jsonResponse(SESSION, 200)]
    stubBackend(
      { settings: on },
      {
        token: () => answers.shift() ?? jsonResponse(refusal, 400),
        logout: () => new Response(null, { status: 204 }),
      },
    )
    visit('/password')
    await enter('wrong')
    expect(await screen.findByText('Access Denied')).toBeInTheDocument()
    await enter('right')
    await waitFor(() => expect(screen.queryByText('Access Denied')).toBeNull())
  })

  it('refuses a wrong password and empties the field', async () => {
    const refusal = {
      code: 'invalid_credentials',
      error_code: 'invalid_credentials',
      msg: 'Invalid login credentials',
    }
    stubBackend({ settings: on }, { token: () => jsonResponse(refusal, 400) })
    visit('/password')
    await enter('wrong')
    expect(await screen.findByText('Access Denied')).toBeInTheDocument()
    expect(screen.getAllByText('The password you entered is incorrect.').length).toBeGreaterThan(0)
    expect(screen.getByLabelText('Password')).toHaveValue('')
    expect(localStorage.getItem(FLAG)).toBeNull()
  })

  it('says so where the password cannot be checked', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    stubBackend({ settings: on }, { token: () => jsonResponse({ msg: 'down' }, 500) })
    visit('/password')
    await enter('right')
    expect(
      await screen.findByText('An unexpected error occurred. Please try again.'),
    ).toBeInTheDocument()
  })

  it('shows nothing of a page before the setting is read', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    stubBackend({ settings: 'failure' })
    visit('/imprint')
    expect(screen.queryByRole('heading', { name: 'Imprint' })).toBeNull()
    // Where it cannot be read, the site is taken for open.
    expect(await screen.findByRole('heading', { name: 'Imprint' })).toBeInTheDocument()
  })

  it('stands before every other page of a closed site, and leads back to it', async () => {
    stubBackend({ settings: on })
    visit('/imprint')
    await form()
    expect(screen.queryByRole('heading', { name: 'Imprint' })).toBeNull()
  })

  it('has neither banner nor chat over it', async () => {
    stubBackend({ settings: on })
    visit('/password')
    await form()
    expect(screen.queryByRole('region', { name: 'Cookie Policy' })).toBeNull()
    expect(screen.queryByRole('button', { name: /chat/ })).toBeNull()
  })
})
