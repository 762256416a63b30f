import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'

import { stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'

import { Insights } from './insights'

const POST = {
  id: 1,
  title: 'Beyond Broadcast',
  category: 'Media',
  description: 'What a club owns.',
  image_url: 'blog-images/Beyond-Broadcast.png',
  link: '/blog/beyond-broadcast',
  is_visible: true,
}

describe('Insights', () => {
  it('shows visible articles, first ones first, each leading to its page', async () => {
    const requests = stubBackend({ blog_posts: [POST] })
    renderFeature(<Insights />)
    const link = await screen.findByRole('link', { name: 'Beyond Broadcast' })
    expect(link).toHaveAttribute('href', '/blog/beyond-broadcast')
    expect(requests[0]?.query.get('is_visible')).toBe('eq.true')
    expect(requests[0]?.query.get('order')).toBe('id.asc')
  })

  it('puts the placeholder where a picture cannot be loaded', async () => {
    stubBackend({ blog_posts: [POST] })
    const { container } = renderFeature(<Insights />)
    await screen.findByRole('link')
    const picture = container.querySelector('article img')
    expect(picture).toHaveAttribute(
      'src',
      'http://backend.test/storage/v1/object/public/blog-images/Beyond-Broadcast.png',
    )
    if (picture) fireEvent.error(picture)
    expect(picture).not.toHaveAttribute('srcset')
    expect(picture).toHaveAttribute('src', expect.stringContaining('/object/public/blog-images/'))
    if (picture) fireEvent.error(picture)
    expect(picture).toHaveAttribute('src', '/placeholder.svg')
  })

  it('holds six places while loading', () => {
    stubBackend({ blog_posts: [POST] })
    renderFeature(<Insights />)
    expect(screen.getByRole('status', { name: 'Loading blog posts' }).children).toHaveLength(6)
  })

  it('says when there are none', async () => {
    stubBackend()
    renderFeature(<Insights />)
    expect(await screen.findByText('No blog posts available')).toBeInTheDocument()
  })

  it('says when they cannot be loaded, and raises a toast', async () => {
    stubBackend({ blog_posts: 'failure' })
    renderFeature(<Insights />)
    expect(
      await screen.findByText('Failed to load blog posts. Please try again later.'),
    ).toBeInTheDocument()
    expect(await screen.findByText('Failed to load blog posts')).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Try Again' })).toBeInTheDocument()
  })
})
