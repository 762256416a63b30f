import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { StaticRouter } from 'react-router-dom'

import { AboutHero } from '@/features/about/about'
import { Article } from '@/features/article/article'
import { ARTICLES } from '@/features/article/articles'
import { CareersHero } from '@/features/careers/careers'
import { Header } from '@/features/header/header'
import { Hero } from '@/features/hero/hero'
import { Cookies } from '@/features/legal/cookies'
import { Imprint } from '@/features/legal/imprint'
import { Privacy } from '@/features/legal/privacy'

interface Options {
  /** Stands for the headline that is typed first. */
  headline: string
  /** Stands for an article's title. */
  title: string
}

/** What is seen of each page before it knows anything. Pages that begin with a form have none: nobody can use it yet. */
function screens({ title }: Options): Record<string, ReactNode> {
  const articles = ARTICLES.map((facts) => [
    facts.link,
    <Article key={facts.link} facts={{ ...facts, defaultTitle: title }} />,
  ])
  return {
    '/': <Hero />,
    '/about': <AboutHero />,
    '/careers': <CareersHero />,
    '/cookies': <Cookies />,
    '/imprint': <Imprint />,
    '/privacy': <Privacy />,
    ...(Object.fromEntries(articles) as Record<string, ReactNode>),
  }
}

/** The first screens as HTML, by their pages' paths: what a server sends so that nobody waits for scripts to see them. */
export function firstScreens(options: Options): Record<string, string> {
  const queries = new QueryClient()
  queries.setQueryData(['hero-headlines'], [options.headline])
  const html = Object.entries(screens(options)).map(([path, screen]) => [
    path,
    renderToStaticMarkup(
      <QueryClientProvider client={queries}>
        <StaticRouter location={path}>
          <Header />
          <main>{screen}</main>
        </StaticRouter>
      </QueryClientProvider>,
    ),
  ])
  return Object.fromEntries(html) as Record<string, string>
}
