import { runnerImport } from 'vite'

import { aliases } from './aliases.ts'

/** Where the pages believe to have their files from while they are rendered. */
const BACKEND = 'https://backend.invalid'

/** Links that React puts first; the page's head has its own. */
const PRELOADS = /^(?:<link [^>]*>)+/

interface Screens {
  firstScreens: (options: { headline: string; title: string }) => Record<string, string>
}

/** What takes the place of what only the server knows. */
export interface Placeholders {
  headline: string
  title: string
  /** Where public files of the storage are. */
  storage: string
}

/** The HTML of the pages' first screens, made by their own components. */
export async function renderFirstScreens({ headline, title, storage }: Placeholders) {
  const { module } = await runnerImport<Screens>(`${aliases['@']}/app/first-screens.tsx`, {
    configFile: false,
    logLevel: 'error',
    resolve: { alias: aliases },
    define: { 'import.meta.env.VITE_SUPABASE_URL': JSON.stringify(BACKEND) },
  })
  const screens = Object.entries(module.firstScreens({ headline, title }))
  const storedAt = `${BACKEND}/storage/v1/object/public`
  const placed = screens.map(([path, html]) => [
    path,
    html.replace(PRELOADS, '').replaceAll(storedAt, storage),
  ])
  return Object.fromEntries(placed) as Record<string, string>
}
