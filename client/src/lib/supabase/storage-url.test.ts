import { describe, expect, it } from 'vitest'

import { parseStoredPath, storedFileUrl, storedPicture, storedSquare } from './storage-url'

describe('parseStoredPath', () => {
  it.each([
    ['ada.webp', { bucket: 'experts', path: 'ada.webp' }],
    ['app/ada.webp', { bucket: 'app', path: 'ada.webp' }],
    ['app/people/ada.webp', { bucket: 'app', path: 'people/ada.webp' }],
    ['"other/social.png"', { bucket: 'other', path: 'social.png' }],
    ['/ada.webp', { bucket: 'experts', path: 'ada.webp' }],
  ])('reads %s', (value, file) => {
    expect(parseStoredPath(value, 'experts')).toEqual(file)
  })
})

describe('storedFileUrl', () => {
  it('is the public address of the file', () => {
    expect(storedFileUrl('ada.webp', 'experts')).toBe(
      'http://backend.test/storage/v1/object/public/experts/ada.webp',
    )
  })

  it('leaves full addresses alone', () => {
    expect(storedFileUrl('https://pictures.test/a.png', 'experts')).toBe(
      'https://pictures.test/a.png',
    )
  })
})

describe('storedPicture', () => {
  const widths = { widths: [320, 640], sizes: '50vw' }

  it('has every width, and the file itself for browsers without srcset', () => {
    const rendered = 'http://backend.test/storage/v1/render/image/public/experts/ada%20l.webp'
    expect(storedPicture('ada l.webp', 'experts', widths)).toEqual({
      src: 'http://backend.test/storage/v1/object/public/experts/ada%20l.webp',
      srcSet: `${rendered}?width=320 320w, ${rendered}?width=640 640w`,
      sizes: '50vw',
    })
    expect(storedSquare('ada l.webp', 'experts', 100).srcSet).toBe(
      `${rendered}?width=100&height=100 1x, ${rendered}?width=200&height=200 2x, ` +
        `${rendered}?width=300&height=300 3x`,
    )
  })

  it.each(['logo.svg', '"app/Logo.SVG"', 'https://pictures.test/a.png'])(
    'leaves %s whole',
    (value) => {
      const whole = { src: storedFileUrl(value, 'app') }
      expect(storedPicture(value, 'app', widths)).toEqual(whole)
      expect(storedSquare(value, 'app', 9)).toEqual(whole)
    },
  )
})
