import { screen } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { rememberServedScreen } from '@/lib/loading/served-screen'
import { stubBackend } from '@/testing/backend'
import { stubIntersection } from '@/testing/intersection'
import { visit } from '@/testing/visit'

/** Opens a page that the server has sent with a first screen, which alone is visible, in a browser that is never idle. */
function open(path: string) {
  const root = document.createElement('div')
  root.append(document.createElement('main'))
  rememberServedScreen(root)
  stubIntersection()
  vi.stubGlobal('requestIdleCallback', () => 0)
  stubBackend()
  visit(path)
}

/** Returns the names of the fields of the form called `name`. */
function fields(name: string) {
  const form = screen.getByRole<HTMLFormElement>('form', { name })
  return [...form.elements].flatMap((field) => field.getAttribute('name') ?? [])
}

// No test waits: everything has to be in the document after the first rendering.
describe('from the first moment on', () => {
  it('the home page has all of its sections, with the contact form', () => {
    open('/')
    const sections = ['problem', 'solution', 'testimonials', 'benefits', 'urgent', 'blog', 'faq']
    for (const id of [...sections, 'contact']) expect(document.getElementById(id)).not.toBeNull()
    expect(fields('Contact form')).toEqual(['name', 'company', 'email', 'message'])
  })

  it('the careers page has the application form', () => {
    open('/careers')
    expect(fields('Apply for a Position')).toEqual(['name', 'email', 'jobRoleId', 'message'])
  })

  it.each(['/', '/about', '/careers', '/blog/beyond-ads', '/imprint', '/auth', '/offside'])(
    '%s has the newsletter’s form in its footer',
    (path) => {
      vi.spyOn(console, 'error').mockReturnValue()
      open(path)
      expect(fields('Insights, once a month')).toEqual(['email', 'consent'])
    },
  )
})
