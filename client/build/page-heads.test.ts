import { expect, it } from 'vitest'

import { firstScreens } from '@/app/first-screens'
import { NOT_FOUND, ROUTES } from '@/app/routes'

import { describeHeads } from './page-heads'

const heads = describeHeads()

it('knows the head of every page that the site has', () => {
  const paths = ROUTES.filter((route) => route !== NOT_FOUND).map(({ path }) => path)
  expect(Object.keys(heads.pages)).toEqual(paths)
})

it('leaves to the server what only the database knows', () => {
  expect(heads.pages['/about']?.title).toBe('{{title.about}} | {{site.name}}')
  expect(heads.pages['/']?.title).toBe('{{site.name}} | {{title.home}}')
  expect(heads.pages['/blog/beyond-ads']?.values?.['article.title']?.default).toBe('Beyond Ads')
})

it('knows the first screens of all pages but the one that asks for the password', () => {
  const screens = firstScreens({ headline: 'H1', title: 'T1', lead: 'L1' })
  expect(Object.keys(screens).sort()).toEqual(
    Object.keys(heads.pages)
      .filter((path) => path !== '/password')
      .sort(),
  )
  expect(screens['/']).toContain('<span class="sr-only">H1</span>')
  expect(screens['/']).toMatch(/src="[^"]*\/object\/public\/app\/demo-20250514.webp"/)
  expect(screens['/blog/beyond-ads']).toMatch(/<h1[^>]*>T1<\/h1>/)
  expect(screens['/blog/beyond-ads']).toContain('/blog-images/Beyond-Ads.png"')
  expect(screens['/blog/beyond-ads']).toMatch(/<p data-lead="true"[^>]*>L1<\/p>/)
  // The largest text of a phone's screen begins below the page's hero.
  expect(screens['/careers']).toContain('id="who-heading"')
  // What would need the page's own style sheets or scripts is refused by its Content-Security-Policy.
  for (const html of Object.values(screens)) expect(html).not.toMatch(/<script|<style| style=/)
})

it('lists no page that search engines should not know', () => {
  const listed = Object.entries(heads.pages).filter(([, page]) => page.isListed)
  const paths = listed.map(([path]) => path)
  expect(paths).not.toContain('/auth')
  expect(paths).not.toContain('/password')
  expect(paths).toContain('/careers')
})

it('has a source for each value that it names', () => {
  for (const page of [...Object.values(heads.pages), heads.notFound]) {
    const values = { ...heads.values, ...page.values }
    const known = new Set(['origin', 'path', 'storage', 'images', ...Object.keys(values)])
    const written = JSON.stringify([page.title, page.elements, page.jsonLd])
    const names = [...written.matchAll(/\{\{([^}[]+)\}\}/g)].map(([, name]) => name ?? '')
    expect(names.filter((name) => !known.has(name))).toEqual([])
  }
})

it('preloads the picture of the first screen as the page then asks for it', () => {
  const screens = firstScreens({ headline: 'H1', title: 'T1', lead: 'L1' })
  for (const path of ['/', '/blog/beyond-ads']) {
    const preload = heads.pages[path]?.elements.find(({ attributes }) => attributes.as === 'image')
    const { imagesrcset, imagesizes, href } = preload?.attributes ?? {}
    const page = document.createElement('div')
    page.innerHTML = screens[path] ?? ''
    const image = page.querySelector('img[fetchpriority=high]')
    const stored = /http:\/\/backend\.test\/storage\/v1\/(?:object|render\/image)\/public/g
    expect(image?.getAttribute('src')?.replace(stored, '{{storage}}')).toBe(href)
    expect(image?.getAttribute('srcset')?.replace(stored, '{{images}}')).toBe(imagesrcset)
    expect(image?.getAttribute('sizes')).toBe(imagesizes)
    expect(imagesrcset).toMatch(/^\{\{images\}\}\/[^ ]+\?width=\d+ \d+w,/)
  }
})
