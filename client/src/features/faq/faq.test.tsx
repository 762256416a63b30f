import { screen, within } from '@testing-library/react'
import { beforeEach, describe, expect, it, vi } from 'vitest'

import { stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { Faq } from './faq'

const FAQS = [
  { id: 'a', question: 'Who pays?', answer: 'We do.', labels: ['Monetization', 'Data'] },
  { id: 'b', question: 'Whose badge?', answer: 'Yours.', labels: ['BrandControl'] },
]

const question = (name: string) => screen.queryByRole('button', { name })
const topic = (name: string) => screen.getByRole('radio', { name })

describe('Faq', () => {
  beforeEach(() => void stubBackend({ faqs: FAQS }))

  it('shows every question at first, under the choices of the list', async () => {
    renderFeature(<Faq />)
    expect(await screen.findByRole('button', { name: 'Who pays?' })).toBeInTheDocument()
    expect(question('Whose badge?')).toBeInTheDocument()
    expect(
      screen.getAllByRole<HTMLInputElement>('radio').map(({ labels }) => labels?.[0]?.textContent),
    ).toEqual(['All', 'DAVE', 'Monetization', 'BrandControl', 'FanExperience', 'Data'])
    expect(topic('All')).toBeChecked()
  })

  it('opens one answer at a time, and closes it again', async () => {
    renderFeature(<Faq />)
    await user.click(await screen.findByRole('button', { name: 'Who pays?' }))
    expect(screen.getByText('We do.')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Whose badge?' }))
    expect(screen.queryByText('We do.')).not.toBeInTheDocument()
    await user.click(screen.getByRole('button', { name: 'Whose badge?' }))
    expect(screen.queryByText('Yours.')).not.toBeInTheDocument()
  })

  it('moves between the questions with the arrow keys, Home and End', async () => {
    renderFeature(<Faq />)
    const [first, second] = await screen.findAllByRole('button', { name: /^Who/ })
    await user.click(screen.getByRole('button', { name: 'Who pays?' }))
    await user.keyboard('{ArrowDown}')
    expect(second).toHaveFocus()
    await user.keyboard('{ArrowDown}')
    expect(first).toHaveFocus()
    await user.keyboard('{ArrowUp}')
    expect(second).toHaveFocus()
    await user.keyboard('{Home}')
    expect(first).toHaveFocus()
    await user.keyboard('{End}{Enter}')
    expect(second).toHaveFocus()
    expect(second).toHaveAttribute('aria-expanded', 'true')
  })

  it('shows only the questions of the chosen topic', async () => {
    renderFeature(<Faq />)
    await screen.findByRole('button', { name: 'Who pays?' })
    await user.click(topic('BrandControl'))
    expect(question('Who pays?')).not.toBeInTheDocument()
    expect(question('Whose badge?')).toBeInTheDocument()
  })

  it('chooses a topic from the badge below an answer', async () => {
    renderFeature(<Faq />)
    await user.click(await screen.findByRole('button', { name: 'Who pays?' }))
    const answer = screen.getByRole('region', { name: 'Who pays?' })
    await user.click(within(answer).getByText('Data'))
    expect(topic('Data')).toBeChecked()
    expect(question('Whose badge?')).not.toBeInTheDocument()
  })

  it('names the topic that has no questions', async () => {
    renderFeature(<Faq />)
    await screen.findByRole('button', { name: 'Who pays?' })
    await user.click(topic('DAVE'))
    expect(screen.getByText('No FAQs found with the label "DAVE".')).toBeInTheDocument()
  })

  it('says when there are none', async () => {
    stubBackend()
    renderFeature(<Faq />)
    expect(await screen.findByText('No FAQs available at the moment.')).toBeInTheDocument()
  })

  it('says when they cannot be loaded, and loads the page again on request', async () => {
    stubBackend({ faqs: 'failure' })
    const reload = vi.fn()
    vi.stubGlobal('location', { reload })
    renderFeature(<Faq />)
    expect(
      await screen.findByText('Failed to load FAQs. Please try again later.'),
    ).toBeInTheDocument()
    expect(await screen.findByText('Failed to load FAQs')).toBeInTheDocument()
    await user.click(screen.getByRole('button', { name: 'Try Again' }))
    expect(reload).toHaveBeenCalledOnce()
  })
})
