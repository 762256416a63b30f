import { describe, expect, it } from 'vitest'

import { splitLinks } from './sources'

describe('the links of a reply', () => {
  it('are taken from its end, with their titles', () => {
    const reply =
      'Nothing.\n\nSource: [FAQ: What does \\*it\\* cost?](/#faq)\n\nSee also: [About us](/about)'
    expect(splitLinks(reply)).toEqual({
      text: 'Nothing.',
      links: [
        { label: 'Source', title: 'FAQ: What does *it* cost?', path: '/#faq' },
        { label: 'See also', title: 'About us', path: '/about' },
      ],
    })
  })

  it.each([
    'Source: [elsewhere](https://elsewhere.example)',
    'Source: [elsewhere](//elsewhere.example)',
    'Source: [script](javascript:alert(1))',
    'Source: [up](/../x)',
    'Read [this](/about) first.',
  ])('lead to pages of the site alone: %s', (text) => {
    expect(splitLinks(text)).toEqual({ text, links: [] })
  })
})
