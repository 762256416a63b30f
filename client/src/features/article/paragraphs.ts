import { PARAGRAPH_SEPARATOR } from '@/lib/constants'

import type { Callout } from './callouts'

/** A part of an article: a paragraph of its text, a heading of its text, or a box between two. */
interface Block {
  kind: 'paragraph' | 'heading' | 'callout'
  text: string
}

/** What a paragraph begins with that is a heading, as in Markdown. */
const HEADING = /^#{1,3} +(?=\S)/

/** Words that a reader takes in within a minute. */
const WORDS_PER_MINUTE = 220

/** Returns the paragraphs of a text that separates them with blank lines. */
export function splitParagraphs(text: string) {
  return text
    .split(PARAGRAPH_SEPARATOR)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '')
}

/** Returns how many minutes it takes to read the text, at least one. */
export function readingMinutes(text: string) {
  return Math.max(1, Math.round(text.split(/\s+/).length / WORDS_PER_MINUTE))
}

/**
 * Paragraphs, headings and callouts in reading order. Callouts count paragraphs alone; one whose paragraph the text does
 * not reach is left out.
 */
export function arrange(paragraphs: readonly string[], callouts: readonly Callout[]): Block[] {
  let count = 0
  const blocks = paragraphs.flatMap((text): Block[] => {
    if (HEADING.test(text)) return [{ kind: 'heading', text: text.replace(HEADING, '') }]
    count += 1
    return [
      { kind: 'paragraph', text },
      ...callouts
        .filter(({ after }) => after === count)
        .map((callout): Block => ({ kind: 'callout', text: callout.text })),
    ]
  })
  const atEnd = paragraphs.length > 0 ? callouts.filter(({ after }) => after === Infinity) : []
  return [...blocks, ...atEnd.map(({ text }): Block => ({ kind: 'callout', text }))]
}
