import { screen } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'

import { Footer } from './footer'

const POST = {
  id: 1,
  title: 'A headline that is a good deal longer than any footer',
  category: 'Media',
  link: '/blog/beyond-broadcast',
}

describe('Footer', () => {
  it('lists the latest insights, cut at thirty characters', async () => {
    const requests = stubBackend({ blog_posts: [POST] })
    renderFeature(<Footer />)
    const link = await screen.findByRole('link', { name: 'A headline that is a good deal…' })
    expect(link).toHaveAttribute('href', '/blog/beyond-broadcast')
    const query = requests.find(({ table }) => table === 'blog_posts')?.query
    expect(query?.get('limit')).toBe('6')
  })

  it('cuts them at forty on small screens, where each has a line of its own', async () => {
    vi.stubGlobal('matchMedia', (query: string) => ({
      matches: query === '(width < 768px)',
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
    }))
    stubBackend({ blog_posts: [POST] })
    renderFeature(<Footer />)
    const link = await screen.findByRole('link', { name: /^A headline/ })
    expect(link).toHaveTextContent('A headline that is a good deal longer th…')
  })

  it('says when they cannot be loaded', async () => {
    stubBackend({ blog_posts: 'failure' })
    renderFeature(<Footer />)
    expect(await screen.findByText('Failed to load recent posts.')).toBeInTheDocument()
  })

  it('shows how to get in touch as the settings have it', async () => {
    stubBackend({ settings: [{ value: '"press@club.example"' }] })
    renderFeature(<Footer />)
    expect(
      await screen.findByText('press@club.example', { selector: '[href^=mailto]' }),
    ).toHaveAttribute('href', 'mailto:press@club.example')
  })

  it('leads to sections of the home page from everywhere', () => {
    stubBackend()
    renderFeature(<Footer />, '/imprint')
    expect(screen.getByRole('link', { name: 'Why Us' })).toHaveAttribute('href', '/#solution')
  })

  it('carries the current year', () => {
    stubBackend()
    renderFeature(<Footer />)
    expect(screen.getByText(new RegExp(String(new Date().getFullYear())))).toBeInTheDocument()
  })
})
