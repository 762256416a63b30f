// Words of questions.

/** Words that say nothing about what a question is about. */
const COMMON = new Set(
  (
    'a about all also an and any are as at be been before by can could did do does for from get give had has have ' +
    'hello hi how i if in into is it its know like long looking me much many my need new now of on once one or our ' +
    'please so some tell than that the their them then there they this to until up us want was we were what when ' +
    'where which who why will with would year years you your yours terrace club clubs company'
  ).split(' '),
)

/** Returns the words of a text in lower case. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Returns a word without its English ending, so that "designers" and "design" are the same. */
export function stem(word: string): string {
  const short = word.replace(/(?:'s|s)$/, '').replace(/(?:ing|ed|ers?|es|e)$/, '')
  return short.length >= 3 ? short : word
}

/** Returns the words that say what a question is about. */
export function contentWordsOf(question: string): string[] {
  return wordsOf(question).filter((word) => !COMMON.has(word))
}

/** Returns the stems of the words that say what a question is about, without those in `others`. */
export function subjectOf(question: string, others: RegExp): string[] {
  return contentWordsOf(question)
    .filter((word) => !others.test(word))
    .map(stem)
}

/** Returns the stems of all words of a text. */
export function stemsOf(text: string): Set<string> {
  return new Set(wordsOf(text).map(stem))
}
