import { expect, it } from 'vitest'

import { ARTICLE_SLUGS } from '@/app/app'

import { describeHeads } from './page-heads'

const heads = describeHeads()

it('knows the head of every page that the site has', () => {
  const fixed = [
    '/',
    '/about',
    '/auth',
    '/careers',
    '/cookies',
    '/imprint',
    '/password',
    '/privacy',
  ]
  const articles = ARTICLE_SLUGS.map((slug) => `/blog/${slug}`)
  expect(Object.keys(heads.pages).sort()).toEqual([...articles, ...fixed].sort())
})

it('leaves to the server what only the database knows', () => {
  expect(heads.pages['/about']?.title).toBe('{{title.about}} | {{site.name}}')
  expect(heads.pages['/']?.title).toBe('{{site.name}} | {{title.home}}')
  expect(heads.pages['/blog/beyond-ads']?.values?.['article.title']?.default).toBe('Beyond Ads')
})

it('lists no page that search engines should not know', () => {
  const listed = Object.entries(heads.pages).filter(([, page]) => page.isListed)
  const paths = listed.map(([path]) => path)
  expect(paths).not.toContain('/auth')
  expect(paths).not.toContain('/password')
  expect(paths).toContain('/careers')
})

it('names no value that it does not say how to get', () => {
  for (const page of [...Object.values(heads.pages), heads.notFound]) {
    const values = { ...heads.values, ...page.values }
    const known = new Set(['origin', 'path', 'storage', ...Object.keys(values)])
    const written = JSON.stringify([page.title, page.elements, page.jsonLd])
    const names = [...written.matchAll(/\{\{([^}[]+)\}\}/g)].map(([, name]) => name ?? '')
    expect(names.filter((name) => !known.has(name))).toEqual([])
  }
})
