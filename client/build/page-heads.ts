import { readFileSync } from 'node:fs'
import path from 'node:path'

import type { Plugin, Rolldown } from 'vite'

import {
  DESCRIPTION_LENGTH,
  jsonLdDocument,
  pageElements,
  siteElements,
  type HeadElement,
  type HeadFacts,
} from '../src/app/head.ts'
import {
  article,
  faqPage,
  jobPosting,
  organization,
  type Site,
} from '../src/app/structured-data.ts'
import { MODULE_LATER } from '../src/app/module-later.ts'
import { NOT_FOUND, ROUTES, type Route } from '../src/app/routes.ts'
import { tabTitle } from '../src/app/tab-title.ts'
import { ARTICLE_PICTURES, ARTICLES, type ArticleFacts } from '../src/features/article/articles.ts'
import { FALLBACK_HEADLINES } from '../src/features/hero/copy.ts'
import {
  DEFAULT_SETTINGS,
  FAVICONS,
  PAGE_TITLES,
  type Favicons,
  type PageTitles,
} from '../src/lib/content/default-settings.ts'
import { DEMO_FILE } from '../src/lib/constants.ts'
import { ARTICLE_WIDTHS, DEMO_WIDTHS, widthsOf, type PictureWidths } from '../src/lib/pictures.ts'
import { aliases } from './aliases.ts'
import { filesOf, filesOfAllPages } from './chunks.ts'
import { renderFirstScreens } from './first-screens.ts'

/** The file with the templates of the pages' heads. Its format: docs/page-heads.md. */
const FILE = '.heads.json'

/** A step that turns a stored text into a value. */
type Step =
  'unquote' | { member: string } | { excerpt: number } | { file: { bucket: string; own?: boolean } }

/** The source of a value. */
interface Source {
  query: string
  column: string
  where?: Record<string, string>
  steps?: Step[]
  /** The text to use if none is stored. The steps apply to it, too. */
  default?: string
  /** The value if the default yields none, either. It may have placeholders. */
  otherwise?: string
}

interface Page {
  title: string
  elements: { tag: string; attributes: Record<string, string> }[]
  jsonLd?: object
  values?: Record<string, Source>
  /** The query that must return a row; otherwise the page does not exist. */
  requires?: string
  /** Whether the page is in the sitemap. */
  isListed: boolean
  /** The value with the time of the page's last change. */
  modified?: string
  /** HTML with placeholders that the page shows until its scripts run. */
  screen?: string
}

/** The most characters of an article's first paragraph that its first screen has. */
const LEAD_LENGTH = 2000

/** The placeholders in first screens for values that only the server knows. */
const PLACEHOLDERS = {
  headline: placeholder('headline'),
  title: placeholder('article.title'),
  lead: placeholder('article.lead'),
  storage: placeholder('storage'),
  images: placeholder('images'),
}

/** Returns the placeholder of the value called `name`. */
function placeholder(name: string) {
  return `{{${name}}}`
}

/** Returns an object with a placeholder for each member of `example`. */
function placeholders<T extends object>(prefix: string, example: T) {
  const members = Object.keys(example).map((name) => [name, placeholder(`${prefix}.${name}`)])
  return Object.fromEntries(members) as Record<keyof T, string>
}

/** The queries to REST, which run as a visitor. */
const QUERIES = {
  settings: 'settings?select=key,category,value',
  faqs: 'faqs?select=question,answer&is_visible=is.true&order=order_index',
  openings:
    'job_openings?select=id,title,description,created_at&is_active=is.true&order=display_order',
  headlines: 'hero_headlines?select=headline&is_visible=is.true&order=order_index&limit=1',
  article: 'blog_posts?select=title,content,updated_at&link=eq.{{path}}',
}

const SITE: Site = {
  origin: placeholder('origin'),
  siteName: placeholder('site.name'),
  siteDescription: placeholder('site.description'),
  pageTitles: placeholders<PageTitles>('title', PAGE_TITLES),
  favicons: placeholders<Favicons>('icon', FAVICONS),
  ogImage: placeholder('site.image'),
  linkedinUrl: placeholder('site.linkedin'),
  contactPhone: placeholder('site.phone'),
  contactEmail: placeholder('site.email'),
}

function setting(key: keyof typeof DEFAULT_SETTINGS, ...steps: Step[]): Source {
  const { category, value } = DEFAULT_SETTINGS[key]
  return {
    query: 'settings',
    where: { key, category },
    column: 'value',
    steps: ['unquote', ...steps],
    default: value,
  }
}

const VALUES: Record<string, Source> = {
  'site.name': setting('site_name'),
  'site.description': setting('site_description'),
  'site.image': setting('og_image', { file: { bucket: 'other' } }),
  'site.linkedin': setting('linkedin_url'),
  'site.phone': setting('contact_phone'),
  'site.email': setting('contact_email'),
  'site.protection': setting('password_protection'),
  headline: { query: 'headlines', column: 'headline', default: FALLBACK_HEADLINES[0] },
  ...Object.fromEntries(
    Object.keys(PAGE_TITLES).map((member) => [
      `title.${member}`,
      setting('page_titles', { member }),
    ]),
  ),
  ...Object.fromEntries(
    Object.keys(FAVICONS).map((member) => [
      `icon.${member}`,
      setting('favicons', { member }, { file: { bucket: 'app', own: true } }),
    ]),
  ),
}

function written({ tag, key, value }: HeadElement) {
  return { tag, attributes: Object.fromEntries([key, value]) }
}

/** Returns a page's head. `facts` are its own values, which it does not share with other pages. */
function page(facts: Partial<HeadFacts> & { title: string }, jsonLd: object[], rest = {}): Page {
  const complete = {
    description: SITE.siteDescription,
    url: `${SITE.origin}${placeholder('path')}`,
    image: SITE.ogImage,
    isArticle: false,
    isHidden: false,
    ...facts,
  }
  return {
    title: facts.title,
    elements: [...siteElements(SITE), ...pageElements(complete)].map(written),
    ...(jsonLd.length > 0 ? { jsonLd: jsonLdDocument(jsonLd) } : {}),
    isListed: !complete.isHidden,
    ...rest,
  }
}

/** The structured data of pages, by path; `[]` in a placeholder repeats its object for each row. */
const JSON_LD: Record<string, object[]> = {
  '/': [
    organization(SITE),
    faqPage([{ question: placeholder('faqs[].question'), answer: placeholder('faqs[].answer') }]),
  ],
  '/careers': [
    jobPosting(
      {
        id: placeholder('openings[].id'),
        title: placeholder('openings[].title'),
        description: placeholder('openings[].description'),
        created_at: placeholder('openings[].created_at'),
      },
      SITE,
    ),
  ],
}

/** Returns a link that preloads a picture of the first screen, in the width that its `img` will choose. */
function preloadPicture(file: string, widths: PictureWidths) {
  const attributes = {
    rel: 'preload',
    as: 'image',
    href: `${placeholder('storage')}/${file}`,
    imagesrcset: widthsOf(`${placeholder('images')}/${file}`, widths),
    imagesizes: widths.sizes,
    fetchpriority: 'high',
  }
  return { tag: 'link', attributes }
}

function fixedPage({ path: route, description, isHidden }: Route): Page {
  const facts = route === '/' ? {} : { description }
  const head = { ...facts, title: tabTitle(route, SITE), isHidden: isHidden ?? false }
  const written = page(head, JSON_LD[route] ?? [])
  if (route === '/') written.elements.push(preloadPicture(`${DEMO_FILE}.webp`, DEMO_WIDTHS))
  return written
}

function articlePage({ link, defaultTitle, image }: ArticleFacts): Page {
  const title = placeholder('article.title')
  const description = placeholder('article.excerpt')
  const picture = `${placeholder('storage')}/${ARTICLE_PICTURES}/${image}`
  const column = (name: string, rest: Partial<Source>) => ({
    query: 'article',
    column: name,
    ...rest,
  })
  const written = page(
    { title: tabTitle(link, SITE, title), description, image: picture, isArticle: true },
    [article({ title, description, image: picture, path: link }, SITE)],
    {
      requires: 'article',
      modified: 'article.modified',
      values: {
        'article.title': column('title', { default: defaultTitle }),
        'article.excerpt': column('content', {
          steps: [{ excerpt: DESCRIPTION_LENGTH }],
          otherwise: SITE.siteDescription,
        }),
        'article.lead': column('content', { steps: [{ excerpt: LEAD_LENGTH }], otherwise: '' }),
        'article.modified': column('updated_at', {}),
      },
    },
  )
  written.elements.push(preloadPicture(`${ARTICLE_PICTURES}/${image}`, ARTICLE_WIDTHS))
  return written
}

/** Returns links to a page's own files, which are loaded together with the shared ones. */
function preloadModules(page: Page, name: string, bundle: Rolldown.OutputBundle) {
  const ofAll = filesOfAllPages(bundle)
  const module = `${aliases['@']}/app/pages/${name}.tsx`
  for (const file of filesOf(module, bundle).filter((file) => !ofAll.includes(file))) {
    const attributes = {
      rel: MODULE_LATER,
      fetchpriority: 'low',
      crossorigin: '',
      href: `/${file}`,
    }
    page.elements.push({ tag: 'link', attributes })
  }
}

function manifest() {
  const file = path.join(import.meta.dirname, '../public/site.webmanifest')
  const fixed = JSON.parse(readFileSync(file, 'utf8')) as object
  return { ...fixed, name: SITE.siteName, description: SITE.siteDescription }
}

/** Returns the templates of all pages' heads, which agree with the heads that the pages set in the browser. */
export function describeHeads() {
  const pages = ROUTES.filter((route) => route !== NOT_FOUND).map((route) => {
    const article = ARTICLES.find(({ link }) => link === route.path)
    return [route.path, article ? articlePage(article) : fixedPage(route)]
  })
  return {
    queries: QUERIES,
    values: VALUES,
    pages: Object.fromEntries(pages) as Record<string, Page>,
    notFound: page({ title: tabTitle(NOT_FOUND.path, SITE), isHidden: true }, []),
    closed: { value: 'site.protection', is: '1', page: '/password' },
    documents: {
      '/site.webmanifest': { type: 'application/manifest+json', body: manifest() },
    },
  }
}

/** Returns the Vite plugin that writes the templates of heads and first screens beside the built page. */
export function pageHeads(): Plugin {
  return {
    name: 'page-heads',
    apply: 'build',
    async generateBundle(_options, bundle) {
      const heads = describeHeads()
      const screens = await renderFirstScreens(PLACEHOLDERS)
      for (const { path: route, page: name } of ROUTES) {
        const page = heads.pages[route] ?? heads.notFound
        page.screen = screens[route]
        preloadModules(page, name, bundle)
      }
      this.emitFile({ type: 'asset', fileName: FILE, source: JSON.stringify(heads) })
    },
  }
}
