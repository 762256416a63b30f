import { describe, expect, it } from 'vitest'

import { parseStoredPath, storedFileUrl } from './storage-url'

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
