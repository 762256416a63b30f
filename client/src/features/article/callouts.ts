/** A box of marketing copy between two paragraphs. */
export interface Callout {
  /** The number of paragraphs above it; Infinity for the end of the article. */
  after: number
  text: string
}

const callout = {
  shortForm:
    'A short-form feed of the club’s own: full-screen clips, one thumb, no rival in the next swipe. Supporters know how it works before they have opened it, and every minute they spend there belongs to you.',
  play: 'Polls, Q&As and challenges sit inside the swipe. A vote at the final whistle, a question to the goalkeeper, a streak worth keeping: watching turns into taking part, and taking part into a habit.',
  data: 'First-party data, collected with opt-in and owned by the club. Every signal can be taken out through open REST APIs, at any time and without asking us.',
  points:
    'Points in the club’s own currency, with public exchange rates, and a co-branded payment card that turns a season of loyalty into something to spend.',
  safety:
    'Verified identities and moderation by AI, with people for the hard cases. Abuse is stopped before anybody sees it, so that players answer and families stay.',
  tiers:
    'Subscription tiers for the devoted and a global rewards network for everybody: income that grows with the relationship, not with the number of advertisements.',
}

/** The articles' callouts, by their routes. */
export const CALLOUTS: Record<string, readonly Callout[]> = {
  '/blog/beyond-broadcast': [
    { after: 3, text: callout.shortForm },
    { after: Infinity, text: callout.data },
  ],
  '/blog/engaging-gen-z': [
    { after: 3, text: callout.shortForm },
    { after: 5, text: callout.play },
  ],
  '/blog/owning-the-goal-line': [
    { after: 3, text: callout.data },
    { after: 6, text: callout.play },
  ],
  '/blog/level-up-your-loyalty': [
    { after: 3, text: callout.points },
    { after: 11, text: callout.tiers },
  ],
  '/blog/building-your-fortress': [
    { after: 3, text: callout.safety },
    { after: 11, text: callout.data },
  ],
  '/blog/beyond-ads': [
    { after: 3, text: callout.tiers },
    { after: 6, text: callout.points },
  ],
}
