import { screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'

import { animationDelays } from '@/testing/animations'
import { stubBackend } from '@/testing/backend'
import { stubIntersection } from '@/testing/intersection'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { About } from './about'
import { isAhead } from './period'

function person(id: string, name: string, role: string) {
  const shared = { title: 'Co-founder', quote: `Said by ${name}.`, about: `About ${name}.` }
  return { id, name, role, image_path: null, is_visible: true, ...shared }
}

const PEOPLE = [
  person('a', 'Ada Quist', 'Chief Executive Officer'),
  person('b', 'Bo Li', 'Investor'),
]

const EVENTS = [
  { id: '1', period: '2020 Q1', title: 'Kick-off', description: 'It began.', order_index: 0 },
  { id: '2', period: '2999 Q4', title: 'Extra time', description: 'To come.', order_index: 1 },
]

function openAbout(people: object[] | 'failure' = PEOPLE, events: object[] | 'failure' = EVENTS) {
  const requests = stubBackend({
    testimonial_page_orders:
      people === 'failure'
        ? people
        : people.map((testimonials, order_index) => ({ order_index, testimonials })),
    timeline_events: events,
  })
  return { requests, ...renderFeature(<About />, '/about') }
}

describe('the people of the about page', () => {
  it('are leaders and investors, told apart by their role', async () => {
    const { requests } = openAbout()
    expect(await screen.findByText('Ada Quist')).toBeInTheDocument()
    const team = within(screen.getByRole('region', { name: 'Meet Our Leadership Team' }))
    expect(team.getByText('Chief Executive Officer')).toBeInTheDocument()
    expect(team.getByText('“Said by Ada Quist.”')).toBeInTheDocument()
    expect(team.getByText('About Ada Quist.')).toBeInTheDocument()
    expect(team.getByText('AQ')).toBeInTheDocument()
    expect(team.queryByText('Bo Li')).not.toBeInTheDocument()
    const backers = within(screen.getByRole('region', { name: 'Backed by Builders' }))
    expect(backers.getByText('Bo Li')).toBeInTheDocument()
    const request = requests.find(({ table }) => table === 'testimonial_page_orders')
    expect(request?.query.get('page_name')).toBe('eq.about us')
  })

  it('have three and two places held while loading', () => {
    openAbout()
    const loading = (name: string) => screen.getByRole('status', { name }).children
    expect(loading('Loading our leadership team')).toHaveLength(3)
    expect(loading('Loading our investors')).toHaveLength(2)
    expect(loading('Loading our journey')).toHaveLength(4)
  })

  it('are being updated where there are none', async () => {
    openAbout([])
    expect(
      await screen.findByText('Our leadership team information is being updated.'),
    ).toBeInTheDocument()
    expect(screen.getByText('Our investor information is being updated.')).toBeInTheDocument()
  })

  it('raise a toast where they cannot be loaded', async () => {
    openAbout('failure')
    expect(await screen.findByText('Error loading testimonials')).toBeInTheDocument()
  })
})

describe('the journey', () => {
  it('opens and closes each description by itself', async () => {
    openAbout()
    const first = await screen.findByRole('button', { name: 'Expand: Kick-off' })
    await user.click(first)
    expect(screen.getByRole('button', { name: 'Collapse: Kick-off' })).toHaveTextContent('Collapse')
    expect(screen.getByText('It began.').closest('[inert]')).toBeNull()
    expect(screen.getByText('To come.').closest('[inert]')).not.toBeNull()
    await user.click(screen.getByRole('button', { name: 'Collapse: Kick-off' }))
    expect(screen.getByText('It began.').closest('[inert]')).not.toBeNull()
  })

  it('lets the marker of what is still to come pulse', async () => {
    const { container } = openAbout()
    await screen.findByText('Extra time')
    const pulses = [...container.querySelectorAll('li')].map(
      (station) => station.querySelector('.animate-pulse-ring') !== null,
    )
    expect(pulses.filter(Boolean)).toHaveLength(1)
    expect(screen.getByText(', Still ahead')).toBeInTheDocument()
  })

  it('takes the colours of five in turn', async () => {
    const stations = Array.from({ length: 7 }, (_, index) => ({
      ...EVENTS[0],
      id: String(index),
      title: `Station ${index}`,
    }))
    openAbout(PEOPLE, stations)
    const badges = (await screen.findAllByText('2020 Q1')).map(({ className }) => className)
    expect(new Set(badges.slice(0, 5)).size).toBe(5)
    expect(badges.slice(5)).toEqual(badges.slice(0, 2))
  })

  it('enters station by station, a tenth of a second apart', async () => {
    const { scrollTo } = stubIntersection()
    openAbout()
    await screen.findByText('Kick-off')
    for (const card of screen.getAllByRole('article')) {
      if (card.parentElement) scrollTo(card.parentElement)
    }
    expect(animationDelays()).toEqual([0, 100])
  })

  it('says when there is none', async () => {
    openAbout(PEOPLE, [])
    expect(await screen.findByText('Our journey is being updated.')).toBeInTheDocument()
  })

  it('raises a toast where it cannot be loaded', async () => {
    openAbout(PEOPLE, 'failure')
    expect(await screen.findByText('Error loading timeline')).toBeInTheDocument()
    expect(
      screen.getByText('There was a problem loading our journey timeline.'),
    ).toBeInTheDocument()
  })

  it.each([
    ['2026 Q4', true],
    ['2026 Q3', true],
    ['2026 Q2', false],
    ['2027', true],
    ['2026', false],
    ['May 2026', true],
    ['May 2025', false],
    ['some day', false],
  ])('takes %s for ahead in early March 2026: %s', (period, ahead) => {
    expect(isAhead(period, new Date(2026, 1, 20))).toBe(ahead)
  })
})

it('leads to the open positions', () => {
  openAbout()
  expect(screen.getByRole('link', { name: 'View Open Positions' })).toHaveAttribute(
    'href',
    '/careers',
  )
})
