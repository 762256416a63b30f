import { readdirSync } from 'node:fs'

import type { Rolldown } from 'vite'

import { aliases } from './aliases.ts'

type Context = Pick<Rolldown.PluginContext, 'getModuleInfo'>

/** What every page runs first, and with it the first screen of the home page. */
const START = `${aliases['@']}/app/start.tsx`

const PAGES = `${aliases['@']}/app/pages`

const HOME = `${PAGES}/home-sections.tsx`

const OTHER_PAGES = readdirSync(PAGES)
  .filter((file) => !file.startsWith('home'))
  .map((file) => `${PAGES}/${file}`)

/** The modules that come with `id`: those that it imports, and theirs. */
function closure(id: string, context: Context, found = new Set<string>()) {
  if (found.has(id)) return found
  found.add(id)
  for (const imported of context.getModuleInfo(id)?.importedIds ?? []) {
    closure(imported, context, found)
  }
  return found
}

let firstFile: Set<string> | undefined

function firstFileOf(context: Context) {
  const start = closure(START, context)
  const others = new Set(OTHER_PAGES.flatMap((page) => [...closure(page, context)]))
  const shared = [...closure(HOME, context)].filter((id) => others.has(id))
  return new Set([...start, ...shared])
}

/**
 * Puts what every page needs into one file, together with what the home page shares with others. Left alone, the bundler
 * makes a file for each set of pages that share something, and a request costs more than the few bytes that it saves.
 */
function fileOfModule(id: string, context: Context) {
  firstFile ??= firstFileOf(context)
  return firstFile.has(id) ? 'start' : null
}

/** The files that modules are gathered in, the first that applies; the bundler finds one for the others. */
export const files: Rolldown.CodeSplittingGroup[] = [
  // What the bundler adds itself is needed before anything else is.
  { name: 'loader', test: /^\0/, priority: 1 },
  { name: fileOfModule, debugName: 'start' },
]
