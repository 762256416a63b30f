import type { Plugin } from 'vite'

/** The module that has most of react-router. */
const ROUTER = /\/node_modules\/react-router\/.*\/chunk-[^/]+\.mjs$/

/** The names of components for React's developer tools, each of which counts as a use of its component. */
const DISPLAY_NAME = /^\w+\.displayName = "[^"]*";$/gm

/** The calls that make components, which have no effect if nobody uses these. */
const COMPONENT = /(?<=^var \w+ = )(?=\w+\.(?:forwardRef|memo)\()/gm

/** Returns the Vite plugin with which the bundler finds the components of react-router that the site does not use. */
export function unusedRouterParts(): Plugin {
  return {
    name: 'unused-router-parts',
    apply: 'build',
    transform: {
      filter: { id: ROUTER },
      handler: (code) => ({
        code: code.replace(DISPLAY_NAME, '').replace(COMPONENT, '/* @__PURE__ */ '),
        // The lines stay where they are.
        map: null,
      }),
    },
  }
}
