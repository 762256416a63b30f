// What the assistant says in words of its own, in the language of the question.

import { type Answer, plain, type Source } from './passages.ts'

/** The languages of questions. The site itself is in English. */
export type Language = 'en' | 'de'

/** The form that reaches the team. */
export const CONTACT: Source = { title: 'Contact form', page: '/#contact' }

interface Phrases {
  greeting: string
  /** The refusal of a question that the site does not answer. */
  unknown: string
  /** What is said before an answer in the site's words; null in its own language. */
  lead: string | null
  /** The labels of the first source, of the others, and of the form. */
  source: string
  more: string
  ask: string
}

export const PHRASES: Record<Language, Phrases> = {
  en: {
    greeting:
      'Hello! Ask me how the app works, what your club would earn, who owns the data, or which roles are open.',
    unknown:
      'I do not know that: I can only answer from what is on this site, and I found nothing about it. ' +
      'The team will know. **Send your question with the contact form** and somebody gets back to you shortly.',
    lead: null,
    source: 'Source',
    more: 'See also',
    ask: 'Ask the team',
  },
  de: {
    greeting:
      'Hallo! Fragen Sie mich, wie die App funktioniert, was Ihr Verein verdient, wem die Daten gehören oder welche Stellen offen sind. Die Texte dieser Seite sind auf Englisch.',
    unknown:
      'Das weiß ich leider nicht: Ich kann nur mit dem antworten, was auf dieser Seite steht, und die ist auf Englisch. ' +
      'Vielleicht hilft die Frage auf Englisch. Oder **fragen Sie das Team mit dem Kontaktformular**.',
    lead: 'Diese Seite ist auf Englisch. Dort steht dazu:',
    source: 'Quelle',
    more: 'Siehe auch',
    ask: 'Das Team fragen',
  },
}

/** Returns the last lines of an answer: links to where it comes from. */
export function cite(sources: Source[], language: Language): string {
  const { source, more, ask } = PHRASES[language]
  const lines = sources.map((one, at) => {
    const label = one === CONTACT ? ask : at === 0 ? source : more
    return `${label}: [${plain(one.title)}](${one.page})`
  })
  return lines.join('\n\n')
}

/** Returns the whole text of an answer. */
export function phrase({ text, sources }: Answer, language: Language): string {
  const { lead } = PHRASES[language]
  return [...(lead === null ? [] : [lead]), text, cite(sources, language)].join('\n\n')
}

/** Returns the refusal of a question that the site does not answer. */
export function refuse(language: Language): string {
  return `${PHRASES[language].unknown}\n\n${cite([CONTACT], language)}`
}
