import { screen, waitFor } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { AUTH_STORAGE_KEY } from '@/lib/session/auth-storage'
import { supabase } from '@/lib/supabase/client'
import { jsonResponse, stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'
import { testSession } from '@/testing/session'
import { user } from '@/testing/user'

import { ApplicationForm } from './application-form'

// In a file of its own: who is signed in stays so for as long as the page, and its module, lives.
it('goes out in the name of who is signed in', async () => {
  const session = testSession()
  vi.spyOn(supabase.auth, 'getSession').mockResolvedValue({ data: { session }, error: null })
  localStorage.setItem(AUTH_STORAGE_KEY, JSON.stringify(session))
  const accept = () => jsonResponse({ ok: true }, 200)
  const requests = stubBackend({}, { 'contact-notification': accept })
  renderFeature(<ApplicationForm choice={undefined} />)
  await waitFor(() => expect(screen.queryByText('Login here')).toBeNull())
  await user.type(screen.getByLabelText('Full Name'), 'Ada Okafor')
  await user.type(screen.getByLabelText('Email Address'), 'ada@club.example')
  await user.click(screen.getByRole('button', { name: 'Submit Application' }))
  await screen.findByText(/^Application submitted/)
  const sent = requests.find(({ table }) => table === 'contact-notification')
  expect(sent?.body).toMatchObject({ record: { user_id: 'user-1' } })
})
