import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { renderToStaticMarkup } from 'react-dom/server'
import { StaticRouter } from 'react-router-dom'

import { Header } from '@/features/header/header'

import type { PageFile } from './pages'
import { ROUTES } from './routes'

interface Options {
  /** The placeholder of the headline that is typed first. */
  headline: string
  /** The placeholder of an article's title. */
  title: string
  /** The placeholder of an article's first paragraph. */
  lead: string
}

const FILES = import.meta.glob<PageFile>('./pages/*.tsx', { eager: true })

/**
 * Returns the first screens as HTML, by their pages' paths. A server sends them, so that they are visible before any
 * script has run.
 */
export function firstScreens({ headline, title, lead }: Options): Record<string, string> {
  const queries = new QueryClient()
  queries.setQueryData(['hero-headlines'], [headline])
  const html = ROUTES.flatMap(({ path, page }) => {
    const FirstScreen = FILES[`./pages/${page}.tsx`]?.FirstScreen
    if (!FirstScreen) return []
    const screen = renderToStaticMarkup(
      <QueryClientProvider client={queries}>
        <StaticRouter location={path}>
          <Header />
          <main>
            <FirstScreen path={path} title={title} lead={lead} />
          </main>
        </StaticRouter>
      </QueryClientProvider>,
    )
    return [[path, screen]]
  })
  return Object.fromEntries(html) as Record<string, string>
}
