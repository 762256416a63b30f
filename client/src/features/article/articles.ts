/** The constants of an article; its text is in the database. */
export interface ArticleFacts {
  /** The article's route, by which the database knows it. */
  link: string
  /** Shown until the stored title arrives. */
  defaultTitle: string
  /** File in the bucket of article pictures. */
  image: string
}

/** The bucket of the articles' pictures. */
export const ARTICLE_PICTURES = 'blog-images'

function article(slug: string, image: string, defaultTitle: string): ArticleFacts {
  return { link: `/blog/${slug}`, image, defaultTitle }
}

export const ARTICLES: readonly ArticleFacts[] = [
  article('beyond-broadcast', 'Beyond-Broadcast.png', 'Beyond Broadcast'),
  article('engaging-gen-z', 'Engaging-Gen-Z.png', 'Engaging Gen Z'),
  article('owning-the-goal-line', 'Owning-the-Goal-Line.png', 'Owning the Goal Line'),
  article('level-up-your-loyalty', 'Level-Up-Your-Loyalty.png', 'Level Up Your Loyalty'),
  article('building-your-fortress', 'Building-Your-Fortress.png', 'Building Your Fortress'),
  article('beyond-ads', 'Beyond-Ads.png', 'Beyond Ads'),
]

/** Returns the constants of the article whose route is `link`. */
export function articleAt(link: string) {
  const facts = ARTICLES.find((article) => article.link === link)
  if (!facts) throw new Error(`No article is known at ${link}`)
  return facts
}

/** How many articles are offered at the end of one. */
const NEXT = 2

/** Returns those of `others` that follow the article at `link`, and after the last one the first. */
export function nextOf<T extends { link: string }>(link: string, others: readonly T[]) {
  const place = ARTICLES.findIndex((article) => article.link === link)
  const order = [...ARTICLES.slice(place + 1), ...ARTICLES.slice(0, place)]
  return order
    .flatMap((article) => others.find((other) => other.link === article.link) ?? [])
    .slice(0, NEXT)
}
