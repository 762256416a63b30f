import { QueryCache } from '@tanstack/react-query'
import { act, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { stubBackend } from '@/testing/backend'
import { user } from '@/testing/user'
import { visit } from '@/testing/visit'

/** Tables whose rows the pages show to everybody, as `schema/site` lists them. */
const CONTENT = [
  'blog_posts',
  'chat_suggested_questions',
  'chat_widget_config',
  'faqs',
  'hero_headlines',
  'job_openings',
  'settings',
  'testimonial_page_orders',
  'testimonials',
  'timeline_events',
]

it.each(['/', '/about', '/careers', '/blog/beyond-ads'])(
  'every query of %s names the tables that it reads',
  async (path) => {
    const built = vi.spyOn(QueryCache.prototype, 'build')
    const requests = stubBackend({ chat_widget_config: [{ welcome_message: 'Hello.' }] })
    visit(path)
    await act(() => vi.advanceTimersByTimeAsync(2_000))
    await user.click(await screen.findByRole('button', { name: /^Open chat/ }))
    await screen.findByRole('dialog')
    const named = new Set(built.mock.calls.flatMap(([, { meta }]) => meta?.tables ?? []))
    for (const [, { queryKey, meta }] of built.mock.calls)
      expect(meta?.tables, String(queryKey)).not.toHaveLength(0)
    const read = requests.filter(({ method }) => method === 'GET').map(({ table }) => table)
    expect([...named]).toEqual(expect.arrayContaining([...new Set(read)]))
    expect(CONTENT).toEqual(expect.arrayContaining([...named]))
  },
)
