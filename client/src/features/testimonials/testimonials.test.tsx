import { screen, waitFor } from '@testing-library/react'
import { describe, expect, it } from 'vitest'

import { animationDelays } from '@/testing/animations'
import { stubBackend } from '@/testing/backend'
import { stubIntersection } from '@/testing/intersection'
import { renderFeature } from '@/testing/render'

import { Testimonials } from './testimonials'

const ADA = {
  id: 'a',
  name: 'Ada Moreno Quist',
  title: 'Researcher',
  role: 'Adviser',
  quote: 'It works.',
  about: 'Ada studies crowds.',
  image_path: 'ada.webp',
  is_visible: true,
}

describe('Testimonials', () => {
  it('shows the experts of the home page in their set order', async () => {
    const requests = stubBackend({
      testimonial_page_orders: [{ order_index: 0, testimonials: ADA }],
    })
    renderFeature(<Testimonials />)
    expect(await screen.findByText('Ada Moreno Quist')).toBeInTheDocument()
    expect(screen.getByText('“It works.”')).toBeInTheDocument()
    expect(screen.queryByText('Adviser')).not.toBeInTheDocument()
    const query = requests[0]?.query
    expect(query?.get('page_name')).toBe('eq.home')
    expect(query?.get('testimonials.is_visible')).toBe('eq.true')
    expect(query?.get('order')).toBe('order_index.asc')
  })

  it('shows those that name the page where no order is set', async () => {
    const requests = stubBackend({ testimonials: [ADA] })
    renderFeature(<Testimonials />)
    expect(await screen.findByText('Ada Moreno Quist')).toBeInTheDocument()
    expect(requests.at(-1)?.query.get('visible_on_pages')).toBe('cs.{home}')
  })

  it('enter one after the other, a tenth of a second apart', async () => {
    const { scrollToAll } = stubIntersection()
    stubBackend({ testimonials: [ADA, { ...ADA, id: 'b' }, { ...ADA, id: 'c' }] })
    renderFeature(<Testimonials />)
    await screen.findAllByText('Ada Moreno Quist')
    // They are watched a moment after they are rendered.
    await waitFor(() => {
      scrollToAll()
      expect(animationDelays()).toEqual([0, 100, 200])
    })
  })

  it('shows initials where there is no picture', async () => {
    stubBackend({ testimonials: [{ ...ADA, image_path: null }] })
    renderFeature(<Testimonials />)
    expect(await screen.findByText('AQ')).toBeInTheDocument()
  })

  it('holds four places while loading', () => {
    stubBackend({ testimonials: [ADA] })
    renderFeature(<Testimonials />)
    expect(screen.getByRole('status', { name: 'Loading testimonials' }).children).toHaveLength(4)
  })

  it('says when there are none', async () => {
    stubBackend()
    renderFeature(<Testimonials />)
    expect(
      await screen.findByText('No expert testimonials available at the moment.'),
    ).toBeInTheDocument()
  })

  it('raises a toast when they cannot be loaded', async () => {
    stubBackend({ testimonial_page_orders: 'failure' })
    renderFeature(<Testimonials />)
    expect(await screen.findByText('Error loading testimonials')).toBeInTheDocument()
    expect(screen.getByText('There was a problem loading expert opinions.')).toBeInTheDocument()
  })
})
