import { screen, within } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { animationDelays } from '@/testing/animations'
import { stubBackend } from '@/testing/backend'
import { stubIntersection } from '@/testing/intersection'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { Careers } from './careers'

const ROLE = { id: 'r1', title: 'Groundskeeper', emoji: '🌱', description: 'You own the grass.' }

describe('the open roles', () => {
  it('are those that are active, in their set order', async () => {
    const requests = stubBackend({ job_openings: [ROLE] })
    renderFeature(<Careers onChooseRole={vi.fn()} />)
    const roles = within(screen.getByRole('region', { name: 'Open Roles' }))
    expect(await roles.findByRole('heading', { name: 'Groundskeeper' })).toBeInTheDocument()
    expect(roles.getByText('🌱')).toBeInTheDocument()
    expect(roles.getByText('You own the grass.')).toBeInTheDocument()
    expect(requests[0]?.query.get('is_active')).toBe('eq.true')
    expect(requests[0]?.query.get('order')).toBe('display_order.asc')
  })

  it('have four places held while loading', () => {
    stubBackend({ job_openings: [ROLE] })
    renderFeature(<Careers onChooseRole={vi.fn()} />)
    expect(screen.getByRole('status', { name: 'Loading open roles' }).children).toHaveLength(4)
  })

  it('report the chosen one and scroll to the form', async () => {
    stubBackend({ job_openings: [ROLE] })
    const onChooseRole = vi.fn()
    renderFeature(
      <Careers onChooseRole={onChooseRole}>
        <div id="job-application" />
      </Careers>,
    )
    await user.click(await screen.findByText('Get in touch'))
    expect(onChooseRole).toHaveBeenCalledWith('r1')
    expect(window.scrollTo).toHaveBeenCalledWith({ top: -80, behavior: 'smooth' })
  })

  it('open a mail where the page has no form', async () => {
    stubBackend({ job_openings: [ROLE] })
    const assign = vi.fn()
    vi.stubGlobal('location', { assign })
    renderFeature(<Careers onChooseRole={vi.fn()} />)
    await user.click(await screen.findByText('Get in touch'))
    expect(assign).toHaveBeenCalledWith(
      'mailto:careers@terrace.example?subject=Interest%20in%20Groundskeeper%20position',
    )
  })

  it('say when there are none', async () => {
    stubBackend()
    renderFeature(<Careers onChooseRole={vi.fn()} />)
    expect(
      await screen.findByText('No open positions at the moment. Check back later!'),
    ).toBeInTheDocument()
  })

  it('raise a toast and stay empty where they cannot be loaded', async () => {
    stubBackend({ job_openings: 'failure' })
    renderFeature(<Careers onChooseRole={vi.fn()} />)
    expect(await screen.findByText('Failed to load job openings')).toBeInTheDocument()
    expect(screen.getByText(/^No open positions/)).toBeInTheDocument()
  })
})

it('says who is sought, and that the demo shows no real brand', () => {
  stubBackend()
  renderFeature(<Careers onChooseRole={vi.fn()} />)
  expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent(/^Join .* Founding Team$/)
  expect(screen.getByText('AI-first. Remote-only. Zero tolerance for BS.')).toBeInTheDocument()
  expect(screen.getByText(/a fictional brand/)).toBeInTheDocument()
  expect(screen.getByRole('region', { name: 'Who We Are' })).toBeInTheDocument()
})

it('tells how the company works in four cards, which enter one after the other', () => {
  const { scrollTo } = stubIntersection()
  stubBackend()
  renderFeature(<Careers onChooseRole={vi.fn()} />)
  const how = within(screen.getByRole('region', { name: 'How We Work' }))
  const cards = how.getAllByRole('heading', { level: 3 })
  expect(cards.map(({ textContent }) => textContent)).toEqual([
    'Remote-first',
    'Truth > Politics',
    'Fast Decisions',
    'Ship What Matters',
  ])
  for (const { parentElement } of cards) if (parentElement) scrollTo(parentElement)
  expect(animationDelays()).toEqual([0, 100, 200, 300])
})
