import { act, screen, within } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { stubBackend } from '@/testing/backend'
import { user } from '@/testing/user'
import { visit as openSite } from '@/testing/visit'

function visit(path: string) {
  stubBackend()
  return openSite(path)
}

describe('the home page', () => {
  it('shows its sections in order, between header and footer', async () => {
    const { container } = visit('/')
    await screen.findByText('Why Act Now')
    const ids = [...container.querySelectorAll('main section')].map(({ id }) => id)
    expect(ids).toEqual([
      'hero',
      'intro',
      'problem',
      'solution',
      'testimonials',
      'benefits',
      'urgent',
      'blog',
      'faq',
      'contact',
    ])
    expect(screen.getByRole('banner')).toBeInTheDocument()
    expect(screen.getByRole('contentinfo')).toBeInTheDocument()
  })

  it('names every section for screen readers', async () => {
    visit('/')
    await screen.findByText('Why Act Now')
    for (const section of screen.getAllByRole('region')) expect(section).toHaveAccessibleName()
  })

  it('shows each part of the pitch', async () => {
    visit('/')
    await screen.findByText('Why Act Now')
    const section = (id: string) => {
      const found = document.getElementById(id)
      if (!found) throw new Error(`there is no section ${id}`)
      return within(found)
    }
    const titles = (id: string) =>
      section(id)
        .getAllByRole('heading', { level: 3 })
        .map(({ textContent }) => textContent)
    expect(titles('problem')).toEqual([
      expect.stringMatching(/access/i),
      expect.stringMatching(/surface/i),
      expect.stringMatching(/connection|bond/i),
    ])
    expect(titles('solution').slice(0, 4)).toEqual([
      expect.stringMatching(/white-\u2060labelled/),
      expect.stringMatching(/swipeable/),
      expect.stringMatching(/points and card/),
      expect.stringMatching(/guaranteed revenue with no tech risk/i),
    ])
    const framework = ['Desirability', 'Accessibility', 'Value Perceived', 'Engagement']
    for (const part of [...framework, 'AI highlights', 'Personalised delivery'])
      expect(section('solution').getByText(part)).toBeInTheDocument()
    expect(section('benefits').getByRole('table')).toBeInTheDocument()
    for (const id of ['solution', 'urgent'])
      expect(section(id).getByRole('link', { name: 'Get in touch' })).toHaveAttribute(
        'href',
        '/#contact',
      )
  })

  it('links to its sections from the header, and to the login', () => {
    visit('/')
    const menu = within(screen.getByRole('navigation', { name: 'Main' }))
    expect(menu.getAllByRole('link').map((link) => link.getAttribute('href'))).toEqual([
      '/#problem',
      '/#solution',
      '/#benefits',
      '/#blog',
      '/#faq',
      '/#contact',
      '/auth',
    ])
    expect(menu.getByRole('link', { name: 'Login' })).toBeInTheDocument()
  })

  it('scrolls to the section that the address names', async () => {
    visit('/#faq')
    await screen.findByText('Why Act Now')
    await vi.waitFor(() =>
      expect(window.scrollTo).toHaveBeenCalledWith({ top: -80, behavior: 'instant' }),
    )
  })

  it('scrolls smoothly once it is there', async () => {
    visit('/')
    await screen.findByText('Why Act Now')
    await act(() => vi.advanceTimersByTimeAsync(200))
    const menu = within(screen.getByRole('navigation', { name: 'Main' }))
    await user.click(menu.getByRole('link', { name: 'FAQ' }))
    await vi.waitFor(() =>
      expect(window.scrollTo).toHaveBeenLastCalledWith({ top: -80, behavior: 'smooth' }),
    )
    expect(screen.getByRole('region', { name: 'Questions that boards ask.' })).toHaveFocus()
  })

  it('shows the whole page if the hash names no section', async () => {
    visit('/#100%')
    expect(await screen.findByText('Why Act Now')).toBeInTheDocument()
    expect(window.scrollTo).toHaveBeenCalledWith({ top: 0, behavior: 'instant' })
  })

  it('scrolls to its top when the logo is followed', async () => {
    visit('/')
    await act(() => vi.advanceTimersByTimeAsync(200))
    await user.click(
      within(screen.getByRole('banner')).getByRole('link', {
        name: 'Terrace, to the top of the home page',
      }),
    )
    await vi.waitFor(() =>
      expect(window.scrollTo).toHaveBeenLastCalledWith({ top: 0, behavior: 'smooth' }),
    )
  })

  it('puts site and page into the tab', async () => {
    visit('/')
    await vi.waitFor(() =>
      expect(document.title).toBe(
        'The First Brand-Exclusive Content-Media APP | Digital Assets & Viewing Experience',
      ),
    )
  })
})

describe('an unknown address', () => {
  it('says so to the visitor, in the tab and in the console', async () => {
    const log = vi.spyOn(console, 'error').mockReturnValue()
    visit('/offside')
    expect(await screen.findByRole('heading', { name: '404' })).toBeInTheDocument()
    expect(screen.getByText('Oops! Page not found')).toBeInTheDocument()
    expect(screen.getByRole('link', { name: 'Return to Home' })).toHaveAttribute('href', '/')
    await vi.waitFor(() => expect(log).toHaveBeenCalledWith(expect.any(String), '/offside'))
    await vi.waitFor(() => expect(document.title).toMatch(/^Page Not Found \| /))
  })

  it('shows a solid header', () => {
    vi.spyOn(console, 'error').mockReturnValue()
    visit('/offside')
    expect(screen.getByRole('banner')).toHaveAttribute('data-solid', 'true')
  })
})
