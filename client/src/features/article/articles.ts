/** A box of marketing copy between two paragraphs. */
export interface Callout {
  /** The number of paragraphs above it; Infinity for the end of the article. */
  after: number
  text: string
}

/** What is fixed about an article; its text comes from the database. */
export interface ArticleFacts {
  /** The article's route, by which the database knows it. */
  link: string
  /** Shown until the stored title arrives. */
  defaultTitle: string
  /** File in the bucket of article pictures. */
  image: string
  callouts: readonly Callout[]
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

function article(
  slug: string,
  image: string,
  defaultTitle: string,
  callouts: readonly Callout[],
): ArticleFacts {
  return { link: `/blog/${slug}`, image, defaultTitle, callouts }
}

/** The bucket of the articles' pictures. */
export const ARTICLE_PICTURES = 'blog-images'

export const ARTICLES: readonly ArticleFacts[] = [
  article('beyond-broadcast', 'Beyond-Broadcast.png', 'Beyond Broadcast', [
    { after: 3, text: callout.shortForm },
    { after: Infinity, text: callout.data },
  ]),
  article('engaging-gen-z', 'Engaging-Gen-Z.png', 'Engaging Gen Z', [
    { after: 3, text: callout.shortForm },
    { after: 5, text: callout.play },
  ]),
  article('owning-the-goal-line', 'Owning-the-Goal-Line.png', 'Owning the Goal Line', [
    { after: 3, text: callout.data },
    { after: 6, text: callout.play },
  ]),
  article('level-up-your-loyalty', 'Level-Up-Your-Loyalty.png', 'Level Up Your Loyalty', [
    { after: 3, text: callout.points },
    { after: 11, text: callout.tiers },
  ]),
  article('building-your-fortress', 'Building-Your-Fortress.png', 'Building Your Fortress', [
    { after: 3, text: callout.safety },
    { after: 11, text: callout.data },
  ]),
  article('beyond-ads', 'Beyond-Ads.png', 'Beyond Ads', [
    { after: 3, text: callout.tiers },
    { after: 6, text: callout.points },
  ]),
]

/** Returns what is fixed about the article whose route is `link`. */
export function articleAt(link: string) {
  const facts = ARTICLES.find((article) => article.link === link)
  if (!facts) throw new Error(`No article is known at ${link}`)
  return facts
}
