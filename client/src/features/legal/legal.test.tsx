import { screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'

import { stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'

import { Cookies } from './cookies'
import { Imprint } from './imprint'
import { Privacy } from './privacy'

describe('the legal pages', () => {
  it('number the fourteen sections of the privacy policy and say when it was updated', () => {
    stubBackend()
    renderFeature(<Privacy />)
    const titles = screen.getAllByRole('heading', { level: 2 })
    expect(titles.map(({ textContent }) => Number.parseInt(textContent, 10))).toEqual(
      Array.from({ length: 14 }, (_, index) => index + 1),
    )
    expect(screen.getByText('Last updated: April 28, 2025')).toBeInTheDocument()
    const contents = within(screen.getByRole('navigation', { name: 'On this page' }))
    for (const link of contents.getAllByRole('link')) {
      const section = document.querySelector(link.getAttribute('href')?.replace(/^.*#/, '#') ?? '')
      expect(section).toContainElement(screen.getByRole('heading', { name: link.textContent }))
    }
    expect(contents.getAllByRole('link')).toHaveLength(14)
  })

  it('give the address and phone number of the settings', async () => {
    stubBackend({ settings: [{ value: '"press@club.example"' }] })
    renderFeature(<Privacy />)
    expect(await screen.findAllByText('press@club.example')).not.toHaveLength(0)
  })

  it('list the cookies with how long they stay', () => {
    renderFeature(<Cookies />)
    const durations = screen.getAllByRole('row').map((row) => row.lastChild?.textContent)
    expect(durations).toEqual(['Duration', '1 year', '2 years', '24 hours', '6 months'])
    expect(screen.getByText(/Cookie Settings link in the footer/)).toBeInTheDocument()
  })

  it('say who answers for the site', () => {
    stubBackend()
    renderFeature(<Imprint />)
    expect(
      screen.getAllByRole('heading', { level: 2 }).map(({ textContent }) => textContent),
    ).toEqual([
      'Legal owner',
      'Managing director',
      'Commercial register',
      'Contact',
      'Responsible for editorial content',
    ])
  })
})
