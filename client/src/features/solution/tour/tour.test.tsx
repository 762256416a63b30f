import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'

import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { Tour } from './tour'

it('shows the app of the club that the visitor sets up', async () => {
  renderFeature(<Tour />)
  expect(screen.getAllByText('Harbour Row FC').length).toBeGreaterThan(0)
  await user.click(screen.getByRole('radio', { name: 'Picks' }))
  expect(screen.queryByText('Harbour Row FC')).toBeNull()
  expect(screen.getAllByText(/Lamps/).length).toBeGreaterThan(0)
  await user.type(screen.getByLabelText('Club name'), 'Ashdown Rovers')
  expect(screen.getAllByText('Ashdown Rovers').length).toBeGreaterThan(0)
  await user.click(screen.getByRole('radio', { name: 'Claret and sky' }))
  expect(screen.getByRole('radio', { name: 'Claret and sky' })).toBeChecked()
})

it('counts a vote once, also if it is changed, and rewards it', async () => {
  renderFeature(<Tour />)
  expect(screen.getByText('9,010 votes')).toBeInTheDocument()
  await user.click(screen.getByRole('button', { name: /Lindholm/ }))
  expect(screen.getByRole('button', { name: /Lindholm/ })).toHaveAttribute('aria-pressed', 'true')
  await user.click(screen.getByRole('button', { name: /Adeyemi/ }))
  expect(screen.getByRole('button', { name: /Lindholm/ })).toHaveAttribute('aria-pressed', 'false')
  expect(screen.getByText('9,011 votes')).toBeInTheDocument()
  expect(screen.getByRole('status')).toHaveTextContent('Thank you: +20 Lanterns')
  expect(screen.getByText('1,260')).toBeInTheDocument()
})
