// What the site says about a question, and an answer that is made of it alone.

import { callAsVisitor } from '../_shared/backend.ts'

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

const SOURCES: Record<Passage['kind'], (passage: Passage) => string> = {
  faq: ({ title }) => `FAQ, “${title}”`,
  article: ({ title }) => `article “${title}”`,
  opening: ({ title }) => `open role “${title}”`,
  event: () => 'our journey',
  page: ({ title }) => title,
}

const UNKNOWN =
  'I do not know that: I can only answer from what is on this site, and I found nothing about it. ' +
  'The team will know. **Send your question with the contact form** (/#contact) and somebody gets back to you shortly.'

const GREETING =
  'Hello! Ask me how the app works, what your club would earn, who owns the data, or which roles are open.'

/** Returns the passages that speak of `question`, the best first; none if none does. */
export async function find(question: string): Promise<Passage[]> {
  const found = await callAsVisitor<Passage[]>('search_site', { question, most: MOST })
  const [best] = found
  const isKnown = best !== undefined && best.coverage >= (best.words <= FEW ? KNOWN_OF_FEW : KNOWN)
  return isKnown ? found : []
}

/** Returns the text with the special characters of Markdown escaped. */
function plain(text: string): string {
  return text.replace(/[\\`*_[\]<>|~]/g, (character) => `\\${character}`)
}

/** Returns where an answer comes from, as its last line. */
export function cite(passage: Passage): string {
  return `*Source: ${plain(SOURCES[passage.kind](passage))} (${plain(passage.page)})*`
}

/** Returns an answer in Markdown of nothing but the passages. */
export function compose(question: string, passages: Passage[]): string {
  const [best, ...others] = passages
  if (best === undefined) {
    return /^\W*(hi|hello|hey|good (morning|afternoon|evening)|thanks?|thank you)\b\W*$/i.test(
      question,
    )
      ? GREETING
      : UNKNOWN
  }
  const parts = [plain(best.body)]
  if (best.kind === 'opening' || best.kind === 'event') parts.unshift(`**${plain(best.title)}**`)
  parts.push(cite(best))
  const related = others.find(({ page, title, score }) => {
    return score >= RELATED * best.score && (page !== best.page || title !== best.title)
  })
  if (related !== undefined) {
    parts.push(`See also: ${plain(SOURCES[related.kind](related))} (${plain(related.page)})`)
  }
  return parts.join('\n\n')
}
