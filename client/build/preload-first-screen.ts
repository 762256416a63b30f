import type { HtmlTagDescriptor, Plugin } from 'vite'

import { MODULE_LATER } from '../src/app/module-later.ts'
import { filesOfAllPages } from './chunks.ts'

/** The two font files that the first screen of every page needs; other alphabets load when a text needs them. */
const FIRST_SCREEN_FONT = /(?:bricolage-grotesque|hanken-grotesk)-latin-wght-normal.*\.woff2$/

function preload(attrs: Record<string, string>): HtmlTagDescriptor {
  return { tag: 'link', attrs: { ...attrs, crossorigin: '' }, injectTo: 'head' }
}

/**
 * Returns the Vite plugin that adds preload links to files whose hashed names only the bundler knows: the fonts of
 * the first screen, and links to the scripts that are loaded once it is painted.
 */
export function preloadFirstScreen(): Plugin {
  return {
    name: 'preload-first-screen',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle }) {
        const files = Object.values(bundle ?? {})
        const fonts = files.filter(({ fileName }) => FIRST_SCREEN_FONT.test(fileName))
        return [
          ...fonts.map(({ fileName }) =>
            preload({ rel: 'preload', as: 'font', type: 'font/woff2', href: `/${fileName}` }),
          ),
          ...filesOfAllPages(bundle ?? {}).map((file) =>
            preload({ rel: MODULE_LATER, fetchpriority: 'low', href: `/${file}` }),
          ),
        ]
      },
    },
  }
}
