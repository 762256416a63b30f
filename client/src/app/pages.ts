import type { ComponentType } from 'react'

import { split } from '@/lib/loading/split'

import { routeOf } from './routes'

/** The properties of every page. */
export interface PageProps {
  /** The path of its route. */
  path: string
}

/** A file in `pages/`. */
export interface PageFile {
  default: ComponentType<PageProps>
  /**
   * The first screen, which is shown before any content is loaded. `title` is the placeholder of a title that only the
   * database has. The gate has none, since its form could not be used yet.
   */
  FirstScreen?: ComponentType<PageProps & { title: string; lead: string }>
}

const FILES = import.meta.glob<PageFile>('./pages/*.tsx')

/** The pages by their files' names, each in a chunk of its own that is loaded when it is first shown. */
const PAGES = new Map(
  Object.entries(FILES).map(([file, load]) => [file.replace(/^.*\/|\.tsx$/g, ''), split(load)]),
)

/** Returns the page that the file called `name` shows. */
export function pageOf(name: string) {
  const page = PAGES.get(name)
  if (!page) throw new Error(`There is no page ${name}`)
  return page
}

/** Reports whether the page at `pathname` can be shown at once. */
export function isPageLoaded(pathname: string) {
  return pageOf(routeOf(pathname).page).isLoaded()
}

/** Loads the chunk of the page at `pathname`, so that it is shown without a gap. */
export function loadPage(pathname: string) {
  return pageOf(routeOf(pathname).page).load()
}
