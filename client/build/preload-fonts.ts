import type { Plugin } from 'vite'

/** The two files that the first screen of every page needs; other alphabets load when text asks for them. */
const FIRST_SCREEN_FONT = /(?:bricolage-grotesque|hanken-grotesk)-latin-wght-normal.*\.woff2$/

/** Adds `<link rel="preload">` for the first screen's fonts, whose hashed names only the bundler knows. */
export function preloadFonts(): Plugin {
  return {
    name: 'preload-fonts',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle }) {
        return Object.keys(bundle ?? {})
          .filter((file) => FIRST_SCREEN_FONT.test(file))
          .map((file) => ({
            tag: 'link',
            attrs: {
              rel: 'preload',
              as: 'font',
              type: 'font/woff2',
              href: `/${file}`,
              crossorigin: '',
            },
            injectTo: 'head' as const,
          }))
      },
    },
  }
}
