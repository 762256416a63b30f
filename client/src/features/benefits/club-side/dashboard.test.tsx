import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'

import { user } from '@/testing/user'

import { Dashboard } from './dashboard'

it('shows the same guarantee for each season, and the share that it brings', async () => {
  render(<Dashboard />)
  const figure = (term: string) =>
    screen.getByText(term, { selector: 'dt' }).nextElementSibling?.textContent
  expect(figure('Guarantee')).toBe('£250,000')
  expect(figure('Share')).toBe('£120,000')
  await user.click(screen.getByRole('radio', { name: 'Relegation' }))
  expect(figure('Guarantee')).toBe('£250,000')
  expect(figure('Share')).toBe('£55,000')
})
