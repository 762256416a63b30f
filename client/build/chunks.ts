import { readdirSync } from 'node:fs'

import type { Rolldown } from 'vite'

import { aliases } from './aliases.ts'

type Context = Pick<Rolldown.PluginContext, 'getModuleInfo'>

const SOURCE = aliases['@']

/** The modules of the entry, which have to run before anything can be shown. */
const START = `${SOURCE}/app/start.tsx`

const PAGES = readdirSync(`${SOURCE}/app/pages`).map((file) => `${SOURCE}/app/pages/${file}`)

const HOME = `${SOURCE}/app/pages/home.tsx`

/** Modules that have to be there before the entry's. */
const LOADER = /^\0|\/lib\/(?:loading\/reload|forms\/drafts|browser\/browser-storage)\.ts$/

/** The modules of the layout around the pages. */
const LAYOUT = `${SOURCE}/app/site-layout.tsx`

/** Modules that only a form in use needs, all of which any form in use needs. */
const FORM =
  /\/lib\/(?:forms\/(?:form-control|rate-limit|submit|csrf-token|validation\/\w+)|notices\/submission-messages)\.ts$/

/** The modules that load content, with the site's client. */
const LIVE_CONTENT = `${SOURCE}/lib/content/live-content.ts`

/** The index of a library. It re-exports all parts, of which other modules use only some, which the bundler finds. */
const INDEX = '/radix-ui/dist/'

/** Icons are a few bytes each, and too small for files of their own. */
const ICON = /\/lucide-react\/dist\/.*\/icons\//

function importsOf(id: string, context: Context) {
  return id.includes(INDEX) ? [] : (context.getModuleInfo(id)?.importedIds ?? [])
}

/** Returns the modules that `id` imports, directly and indirectly. */
function closure(id: string, context: Context, found = new Set<string>()) {
  if (found.has(id)) return found
  found.add(id)
  for (const imported of importsOf(id, context)) closure(imported, context, found)
  return found
}

function gather(context: Context) {
  const start = closure(START, context)
  const others = PAGES.filter((page) => page !== HOME).map((page) => closure(page, context))
  const usesOf = (id: string) => others.filter((modules) => modules.has(id)).length
  const ofHome = [...closure(HOME, context)].filter((id) => usesOf(id) > 0)
  const ofOthers = others.flatMap((modules) => [...modules])
  const icons = ofOthers.filter((id) => ICON.test(id) && usesOf(id) > 1)
  return {
    start,
    shared: new Set([...closure(LAYOUT, context), ...ofHome, ...icons]),
    supabase: closure(LIVE_CONTENT, context),
  }
}

let gathered: ReturnType<typeof gather> | undefined

/** Returns a group of modules, those for which `gather` returns this name, which become one file. */
function file(
  name: keyof ReturnType<typeof gather>,
  priority: number,
): Rolldown.CodeSplittingGroup {
  return {
    name: (id, context) => {
      gathered ??= gather(context)
      return gathered[name].has(id) ? name : null
    },
    debugName: name,
    priority,
  }
}

/**
 * The groups of modules that become one file each, by descending priority; the bundler chooses the files of the others.
 *
 * The entry is one file, the site's client of supabase-js another, and a third one has the layout around all pages and
 * what the home page shares with others. Without groups, the bundler makes a file for each set of pages that share a
 * module, and a request costs more than the few bytes that it saves.
 */
export const files: Rolldown.CodeSplittingGroup[] = [
  // The bundler's own helpers are needed first, and what reloads the page if the next file cannot be loaded.
  { name: 'loader', test: LOADER, priority: 5 },
  file('start', 4),
  file('shared', 3),
  file('supabase', 2),
  { name: 'forms', test: FORM, priority: 1 },
]

/** Returns the names of the files that the chunk of `module` consists of, its own first. */
export function filesOf(module: string, bundle: Rolldown.OutputBundle) {
  const chunks = Object.values(bundle).filter((output) => output.type === 'chunk')
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const collect = (chunk: Rolldown.OutputChunk | undefined, found: Set<string>) => {
    if (!chunk || found.has(chunk.fileName)) return found
    found.add(chunk.fileName)
    for (const name of chunk.imports) collect(byName.get(name), found)
    return found
  }
  const own = chunks.find(({ facadeModuleId }) => facadeModuleId === module)
  if (!own) throw new Error(`No file is made of ${module}`)
  return [...collect(own, new Set())]
}

/** Returns the files that every page needs, in the order in which they are needed. */
export function filesOfAllPages(bundle: Rolldown.OutputBundle) {
  return [...new Set([START, LAYOUT].flatMap((module) => filesOf(module, bundle)))]
}
