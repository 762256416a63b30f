import { runnerImport } from 'vite'

import { aliases } from './aliases.ts'

/** The URL that pages use for their files while they are rendered. */
const BACKEND = 'https://backend.invalid'

/** Links that React adds at the beginning; the page's head has its own. */
const PRELOADS = /^(?:<link [^>]*>)+/

interface Screens {
  firstScreens: (options: {
    headline: string
    title: string
    lead: string
  }) => Record<string, string>
}

/** Placeholders for values that only the server knows. */
interface Placeholders {
  headline: string
  title: string
  lead: string
  /** The URL of public files of the storage. */
  storage: string
  /** The URL of rendered pictures of it. */
  images: string
}

/** Returns the HTML of the pages' first screens, rendered by their own components. */
export async function renderFirstScreens({ headline, title, lead, storage, images }: Placeholders) {
  const { module } = await runnerImport<Screens>(`${aliases['@']}/app/first-screens.tsx`, {
    configFile: false,
    logLevel: 'error',
    resolve: { alias: aliases },
    define: { 'import.meta.env.VITE_SUPABASE_URL': JSON.stringify(BACKEND) },
  })
  const screens = Object.entries(module.firstScreens({ headline, title, lead }))
  const storedAt = `${BACKEND}/storage/v1/object/public`
  const renderedAt = `${BACKEND}/storage/v1/render/image/public`
  const placed = screens.map(([path, html]) => [
    path,
    html.replace(PRELOADS, '').replaceAll(storedAt, storage).replaceAll(renderedAt, images),
  ])
  return Object.fromEntries(placed) as Record<string, string>
}
