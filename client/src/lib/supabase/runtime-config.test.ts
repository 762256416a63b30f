import { afterEach, describe, expect, it, vi } from 'vitest'

import { readRuntimeConfig } from './runtime-config'

const BUILD = { VITE_SUPABASE_URL: 'https://build.test', VITE_SUPABASE_ANON_KEY: 'build-key' }

function page(config: string) {
  document.head.innerHTML = `<script id="basalt-config" type="application/json">${config}</script>`
  return document
}

describe('readRuntimeConfig', () => {
  afterEach(() => {
    document.head.innerHTML = ''
  })

  it('takes what the server has written into the page', () => {
    const config = { url: 'https://site.test', key: 'site-key' }
    const read = (more: object) =>
      readRuntimeConfig(page(JSON.stringify({ ...config, ...more })), BUILD)
    const everything = { ...config, hasChannels: true, hasImages: true }
    expect(read({})).toEqual(everything)
    expect(read({ channels: false })).toEqual({ ...everything, hasChannels: false })
    expect(read({ images: false })).toEqual({ ...everything, hasImages: false })
  })

  it("takes the build's settings while the placeholders stand", () => {
    const placeholders = '{"url":"%BASALT_URL%","key":"%BASALT_ANON_KEY%"}'
    expect(readRuntimeConfig(page(placeholders), BUILD)).toEqual({
      url: 'https://build.test',
      key: 'build-key',
      hasChannels: true,
      hasImages: true,
    })
  })

  it("takes the page's own address where nothing names the backend", () => {
    expect(readRuntimeConfig(document, { VITE_SUPABASE_ANON_KEY: 'build-key' }).url).toBe(
      window.location.origin,
    )
  })

  it('says in the console what is missing, or unreadable', () => {
    const complaint = vi.spyOn(console, 'error').mockReturnValue()
    expect(readRuntimeConfig(page('{oops'), {}).key).not.toBe('')
    expect(complaint).toHaveBeenCalledWith(expect.stringContaining('does not hold JSON'))
    expect(complaint).toHaveBeenCalledWith(expect.stringContaining('VITE_SUPABASE_ANON_KEY'))
  })
})
