import { PARAGRAPH_SEPARATOR } from '@/lib/constants'

import type { Callout } from './callouts'

/** A part of an article: a paragraph of its text, or a box between two. */
interface Block {
  kind: 'paragraph' | 'callout'
  text: string
}

/** Returns the paragraphs of a text that separates them with blank lines. */
export function splitParagraphs(text: string) {
  return text
    .split(PARAGRAPH_SEPARATOR)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '')
}

/** Paragraphs and callouts in reading order. A callout whose paragraph the text does not reach is left out. */
export function arrange(paragraphs: readonly string[], callouts: readonly Callout[]): Block[] {
  const blocks = paragraphs.flatMap((text, index): Block[] => [
    { kind: 'paragraph', text },
    ...callouts
      .filter(({ after }) => after === index + 1)
      .map((callout): Block => ({ kind: 'callout', text: callout.text })),
  ])
  const atEnd = paragraphs.length > 0 ? callouts.filter(({ after }) => after === Infinity) : []
  return [...blocks, ...atEnd.map(({ text }): Block => ({ kind: 'callout', text }))]
}
