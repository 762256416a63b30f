export const ALL = 'All'

/** The topics to choose from, spelled as the labels in the table are. */
export const FILTERS = [
  ALL,
  'DAVE',
  'Monetization',
  'BrandControl',
  'FanExperience',
  'Data',
] as const

/** A topic of the list, or any other label of a question. */
export type Filter = (typeof FILTERS)[number] | (string & {})

/** Returns the questions with the label; all of them for `ALL`. */
export function filterFaqs<T extends { labels: readonly string[] | null }>(
  faqs: readonly T[],
  filter: Filter,
) {
  return filter === ALL ? faqs : faqs.filter(({ labels }) => labels?.includes(filter))
}
