import type { Plugin } from 'vite'

/**
 * Removes the call with which sonner adds a `<style>` element when it is imported.
 *
 * A Content-Security-Policy of `style-src 'self'` refuses such elements. The same rules are shipped
 * by sonner as `sonner/dist/styles.css`, which `main.tsx` imports.
 */
export function withoutInjectedStyles(): Plugin {
  return {
    name: 'without-injected-styles',
    apply: 'build',
    transform: {
      filter: { id: /\/sonner\/dist\/index\.mjs/ },
      handler(code) {
        const stripped = code.replace(/^__insertCSS\(".*"\);?$/m, '')
        if (stripped === code)
          this.error('sonner no longer injects its styles this way; drop or mend this plugin')
        return { code: stripped, map: null }
      },
    },
  }
}
