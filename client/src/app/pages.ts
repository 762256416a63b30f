import type { ComponentType } from 'react'

import { split } from '@/lib/loading/split'

import { routeOf } from './routes'

/** What every page is given. */
export interface PageProps {
  /** The path of its route. */
  path: string
}

/** A file in `pages/`. */
export interface PageFile {
  default: ComponentType<PageProps>
  /**
   * What is seen of the page before it knows anything. `title` stands for what only the database knows. Pages that begin
   * with a form have none: nobody can use it yet.
   */
  FirstScreen?: ComponentType<PageProps & { title: string }>
}

const FILES = import.meta.glob<PageFile>('./pages/*.tsx')

/** The pages by their files' names, each in a file of its own that comes when it is first shown. */
const PAGES = new Map(
  Object.entries(FILES).map(([file, load]) => [file.replace(/^.*\/|\.tsx$/g, ''), split(load)]),
)

/** Returns the page that the file called `name` shows. */
export function pageOf(name: string) {
  const page = PAGES.get(name)
  if (!page) throw new Error(`There is no page ${name}`)
  return page
}

/** Brings the file of the page at `pathname`, so that it shows without a gap. */
export function loadPage(pathname: string) {
  return pageOf(routeOf(pathname).page).load()
}
