import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { supabase } from '@/lib/supabase/client'
import { stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'

import { Article } from './article'
import { articleAt, ARTICLES, nextOf } from './articles'
import { CALLOUTS } from './callouts'
import { arrange, splitParagraphs } from './paragraphs'

const paragraphs = Array.from({ length: 13 }, (_, index) => `Paragraph ${index + 1}.`)

const STORED = {
  title: 'Owning the goal line, for good',
  category: 'Data',
  created_at: '2026-05-12T08:00:00+00:00',
  content: paragraphs.join('\n\n'),
  source_link1: 'https://one.example/study',
  source_title1: 'A study',
  source_link2: 'https://two.example/report',
  source_title2: null,
}

const factsOf = (slug: string) => articleAt(`/blog/${slug}`)

function open(slug = 'owning-the-goal-line', stored: object[] | 'failure' = [STORED]) {
  const requests = stubBackend({ blog_posts: stored })
  return { requests, ...renderFeature(<Article facts={factsOf(slug)} />) }
}

describe('Article', () => {
  it('holds the places of picture and five lines while loading, under its default title', () => {
    const { container } = open()
    expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('Owning the Goal Line')
    expect(screen.getByRole('status', { name: 'Loading article' })).toBeInTheDocument()
    expect(container.querySelectorAll('.animate-breathe')).toHaveLength(1 + 5)
  })

  it('shows the stored title and the paragraphs of its text', async () => {
    const { requests } = open()
    expect(await screen.findByText(STORED.title)).toBeInTheDocument()
    for (const paragraph of paragraphs) expect(screen.getByText(paragraph)).toBeInTheDocument()
    const { query } = requests.find(({ table }) => table === 'blog_posts') ?? {}
    expect(query?.get('link')).toBe('eq./blog/owning-the-goal-line')
  })

  it('shows topic, date and reading time below its title', async () => {
    const content = Array.from({ length: 700 }, () => 'word').join(' ')
    open('beyond-ads', [{ ...STORED, content }])
    expect(await screen.findByText('Data')).toBeInTheDocument()
    expect(screen.getByText('12 May 2026')).toHaveAttribute('datetime', STORED.created_at)
    expect(screen.getByText('3 min read')).toBeInTheDocument()
  })

  it('makes headings of what its text marks as such', async () => {
    open('beyond-ads', [{ ...STORED, content: 'One.\n\n## What then?\n\nTwo.' }])
    expect(await screen.findByRole('heading', { level: 2, name: 'What then?' })).toBeInTheDocument()
  })

  it('leads on to the form for a demo', async () => {
    open()
    expect(await screen.findByRole('link', { name: 'Book a demo' })).toHaveAttribute(
      'href',
      '/#contact',
    )
  })

  it('leads back to the articles', () => {
    open()
    expect(screen.getByRole('link', { name: 'Back to Articles' })).toHaveAttribute('href', '/#blog')
  })

  it('names only sources that have link and title, in new tabs', async () => {
    open()
    expect(await screen.findByText('Sources:')).toBeInTheDocument()
    const source = screen.getByRole('link', { name: 'A study' })
    expect(source).toHaveAttribute('target', '_blank')
    expect(source).toHaveAttribute('rel', 'noopener noreferrer')
    expect(document.querySelector('[href="https://two.example/report"]')).toBeNull()
  })

  it('has no list of sources without one', async () => {
    open('beyond-ads', [{ ...STORED, source_link1: null, source_link2: null }])
    await screen.findByText(STORED.title)
    expect(screen.queryByText('Sources:')).not.toBeInTheDocument()
  })

  it('shows a skeleton until the picture is there, and the placeholder where it never is', async () => {
    const { container } = open()
    await screen.findByText(STORED.title)
    const picture = container.querySelector('img')
    expect(picture?.src).toMatch(/blog-images\/Owning-the-Goal-Line\.png$/)
    expect(container.querySelector('.animate-breathe')).not.toBeNull()
    if (picture) fireEvent.error(picture)
    expect(picture).not.toHaveAttribute('srcset')
    expect(picture).toHaveAttribute('src', expect.stringContaining('/object/public/blog-images/'))
    if (picture) fireEvent.error(picture)
    expect(picture).toHaveAttribute('src', '/placeholder.svg')
    expect(container.querySelector('.animate-breathe')).toBeNull()
  })

  it('keeps its title and an empty text where the backend refuses', async () => {
    open('beyond-ads', 'failure')
    expect(await screen.findByText('Failed to load blog content')).toBeInTheDocument()
    expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('Beyond Ads')
    expect(screen.queryByText('Terrace Solution:')).not.toBeInTheDocument()
  })

  it('goes when it is hidden, and stays when it cannot be read again', async () => {
    open('beyond-ads')
    await screen.findByText(STORED.title)
    stubBackend({ blog_posts: 'failure' })
    act(() => void window.dispatchEvent(new Event('focus')))
    await waitFor(() => expect(screen.getByText(STORED.title)).toBeInTheDocument())
    stubBackend({ blog_posts: [] })
    act(() => void window.dispatchEvent(new Event('focus')))
    await waitFor(() => expect(screen.queryByText('Paragraph 1.')).toBeNull())
    expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('Beyond Ads')
  })

  it('says that something went wrong where reading breaks', async () => {
    stubBackend()
    vi.spyOn(supabase, 'from').mockImplementation(() => {
      throw new Error('not even a request')
    })
    renderFeature(<Article facts={factsOf('beyond-ads')} />)
    expect(await screen.findByText('Something went wrong')).toBeInTheDocument()
  })
})

it.each([
  ['beyond-broadcast', ['engaging-gen-z', 'owning-the-goal-line']],
  ['building-your-fortress', ['beyond-ads', 'beyond-broadcast']],
])('after %s come %j', (slug, next) => {
  const links = (slugs: string[]) => slugs.map((name) => ({ link: `/blog/${name}` }))
  const others = ARTICLES.filter(({ link }) => link !== `/blog/${slug}`)
  expect(nextOf(`/blog/${slug}`, [...others].reverse())).toMatchObject(links(next))
})

describe('callouts', () => {
  const places = (slug: string) =>
    arrange(paragraphs, CALLOUTS[`/blog/${slug}`] ?? []).flatMap(({ kind }, index, blocks) =>
      kind === 'callout'
        ? [blocks.slice(0, index).filter((block) => block.kind === 'paragraph').length]
        : [],
    )

  it.each([
    ['beyond-broadcast', [3, 13]],
    ['engaging-gen-z', [3, 5]],
    ['owning-the-goal-line', [3, 6]],
    ['level-up-your-loyalty', [3, 11]],
    ['building-your-fortress', [3, 11]],
    ['beyond-ads', [3, 6]],
  ])('of %s stand below paragraphs %j', (slug, expected) => {
    expect(places(slug)).toEqual(expected)
  })

  it('count paragraphs, not headings', () => {
    const blocks = arrange(['One', '## Heading', 'Two', 'Three'], [{ after: 3, text: 'Box' }])
    expect(blocks.map(({ kind }) => kind)).toEqual([
      'paragraph',
      'heading',
      'paragraph',
      'paragraph',
      'callout',
    ])
  })

  it('stand between paragraphs that blank lines separate', () => {
    expect(splitParagraphs('One\n\nTwo\r\n\r\nThree\n \n\nFour')).toEqual([
      'One',
      'Two',
      'Three',
      'Four',
    ])
  })
})
