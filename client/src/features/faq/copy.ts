export const copy = {
  title: 'Questions that boards ask.',
  lead: 'Pick a topic, or read straight through.',
  filterLabel: 'Filter questions by topic',
  filterBy: (label: string) => `Show only questions about ${label}`,
  loading: 'Loading FAQs',
  empty: 'No FAQs available at the moment.',
  noMatch: (label: string) => `No FAQs found with the label "${label}".`,
  more: (count: number) => `Show all ${count} questions`,
  retry: 'Try Again',
} as const
