// Questions in German. The site is in English, so they are answered by the English questions that they come to.

import { wordsOf } from './words.ts'

/** Words that are German and not English. */
const GERMAN = new Set(
  (
    'arbeiten auf bei bekommen bekommt bitte braucht bringt danke das daten dem den der dieser du ein eine einen einer ' +
    'er es euch eure euren für fuer gehören gehört gegründet gegruendet gibt gründer gruender guten haben habt hallo ' +
    'ich ihr ihre ist kann kosten kostet können koennen macht man mit nicht oder punkte seid servus sie sind stellen ' +
    'und uns unser unsere unserer verdienen verdient verein vereine viel von wann warum welche welchen welcher welches ' +
    'wem wer werden wie wieviel wir wird wo wofür woher zu zum zur'
  ).split(' '),
)

/** Returns whether a text is in German: by two of its words, or by one where there are few. */
export function isGerman(text: string): boolean {
  const words = wordsOf(text)
  const known = words.filter((word) => GERMAN.has(word)).length
  return known >= 2 || (known === 1 && (/[äöüß]/i.test(text) || words.length <= 3))
}

/** What German questions are about, and the English question that has the answer. The first that fits counts. */
const MEANINGS: [pattern: RegExp, question: string][] = [
  [/bewerb/, 'How do I apply for a job?'],
  [/(stelle|job|position).*(entwickl|ingenieur|programmier)/, 'jobs for engineers'],
  [/(stelle|job|position).*design/, 'jobs for designers'],
  [/\bstellen?\b|\bjobs?\b|karriere|arbeiten (bei|für)/, 'Which jobs are open?'],
  [/investor|investier/, 'Who are the investors?'],
  [/wann.*gegr(ü|ue)nd|seit wann/, 'When was Terrace founded?'],
  [/gr(ü|ue)nder|gegr(ü|ue)ndet|wer (steckt|steht) hinter/, 'Who founded Terrace?'],
  [/gesch(ä|ae)ftsf(ü|ue)hr|wer leitet/, 'Who leads the company?'],
  [/welche[rnms]? (vereine|clubs|klubs|kunden|partner|teams)|referenz/, 'Which clubs use it?'],
  [/wie ?viel geld/, 'How much money?'],
  [/verdien|einnahm|garant|umsatz|erl(ö|oe)s|beteilig/, 'How much money would a club earn?'],
  [/kost(et|en)|preis|geb(ü|ue)hr|bezahl/, 'What does it cost us to launch?'],
  [/daten|dsgvo/, "Who owns our supporters' data?"],
  [/karte/, 'What is the co-branded payment card?'],
  [/punkte|pr(ä|ae)mie|belohn/, 'How do points, levels and rewards work?'],
  [/wie (lange|schnell) (dauert|k(ö|oe)nn)/, 'How long does it take to go live?'],
  [/beleidig|hass|missbrauch|moderation/, 'How do you keep abuse out?'],
  [/k(ü|ue)ndig|aussteig/, 'What happens if we want to leave?'],
  [/marke\b|white.?label/, 'How white-label is white-label?'],
  [/demo\b|termin|kontakt|erreich/, 'How to book a demo, contact the team or get in touch'],
  [/was (ist|macht) (terrace|ihr|die app)/, 'What is Terrace?'],
]

/** Returns the English question that a German one comes to; null if it is none that the site answers. */
export function inEnglish(question: string): string | null {
  const text = question.toLowerCase()
  return MEANINGS.find(([pattern]) => pattern.test(text))?.[1] ?? null
}
