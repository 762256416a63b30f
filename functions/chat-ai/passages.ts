// What the site says about a question, and an answer that is made of it alone.

import { callAsVisitor } from '../_shared/backend.ts'
import { contentWordsOf, wordsOf } from './words.ts'

/** A part of the site that may answer a question. */
export interface Passage {
  kind: 'faq' | 'article' | 'opening' | 'event' | 'page'
  page: string
  title: string
  body: string
  score: number
  /** The part of the question's words that it has, by how telling they are; 1 for all. */
  coverage: number
  /** How many words those are. */
  words: number
}

const MOST = 4
/** The least coverage with which the best passage counts as an answer; a question of few words needs more. */
const KNOWN = 0.34
const KNOWN_OF_FEW = 0.55
const FEW = 3
/** Another page is worth a mention if it answers nearly as well. */
const RELATED = 0.7

/** Where an answer comes from: a page of the site, under the name of what it says there. */
export interface Source {
  title: string
  page: string
}

/** An answer in Markdown, and where it comes from. */
export interface Answer {
  text: string
  sources: Source[]
}

const NAMES: Record<Passage['kind'], (title: string) => string> = {
  faq: (title) => `FAQ: ${title}`,
  article: (title) => `Article: ${title}`,
  opening: (title) => `Open role: ${title}`,
  event: () => 'Our journey',
  page: (title) => title,
}

/** Returns where a passage comes from. */
export function sourceOf({ kind, title, page }: Passage): Source {
  return { title: NAMES[kind](title), page }
}

/** Questions that the timeline may answer. */
const OF_TIME =
  /\b(when|year|timeline|journey|history|milestones?|roadmap|plans?|planned|next|happen(s|ed)?)\b/i

/** Returns whether a passage has one of the words that say what the question is about, as they are. */
function hasWord({ title, body }: Passage, question: string): boolean {
  const words = new Set(wordsOf(`${title} ${body}`))
  return contentWordsOf(question).some((word) => words.has(word))
}

/** Returns whether a passage that was found can be an answer. */
function isKnown(passage: Passage, question: string): boolean {
  const { kind, coverage, words } = passage
  if (coverage < (words <= FEW ? KNOWN_OF_FEW : KNOWN)) return false
  // One word in another form says little: "employees" finds "employ".
  return words > 1 || kind === 'faq' || hasWord(passage, question)
}

/** Returns the passages that speak of `question`, the best first; none if none does. */
export async function find(question: string): Promise<Passage[]> {
  const found = await callAsVisitor<Passage[]>('search_site', { question, most: MOST })
  const passages = found.filter(({ kind }) => kind !== 'event' || OF_TIME.test(question))
  const [best] = passages
  return best !== undefined && isKnown(best, question) ? passages : []
}

/** Returns the text with the special characters of Markdown escaped. */
export function plain(text: string): string {
  return text.replace(/[\\`*_[\]<>|~]/g, (character) => `\\${character}`)
}

/** Returns an answer of nothing but the passages, the best of which comes first. */
export function compose([best, ...others]: [Passage, ...Passage[]]): Answer {
  const parts = [plain(best.body)]
  if (best.kind === 'opening' || best.kind === 'event') parts.unshift(`**${plain(best.title)}**`)
  const related = others.find(({ page, title, score }) => {
    return score >= RELATED * best.score && (page !== best.page || title !== best.title)
  })
  const sources = related === undefined ? [best] : [best, related]
  return { text: parts.join('\n\n'), sources: sources.map(sourceOf) }
}
