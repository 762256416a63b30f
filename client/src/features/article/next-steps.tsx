import { Link } from '@/components/layout/link'
import { SectionLink } from '@/components/layout/section-link'
import { buttonClass } from '@/components/ui/button-class'
import { ImageWithFallback, PLACEHOLDER_IMAGE } from '@/components/ui/image-with-fallback'
import { postTitle } from '@/lib/content/post-title'
import { CARD_WIDTHS } from '@/lib/pictures'
import { SECTION } from '@/lib/sections'
import { storedPicture } from '@/lib/supabase/storage-url'

import { ARTICLE_PICTURES } from './articles'
import { copy } from './copy'
import { useNextArticles, type NextArticle } from './queries'

/** Shows what to do after an article: see the app, or read on. */
export function NextSteps({ link }: { link: string }) {
  const { data: articles = [] } = useNextArticles(link)
  return (
    <div className="mx-auto mt-14 max-w-[64rem] md:mt-20 print:hidden">
      <aside
        aria-label={copy.demoAction}
        className="flex flex-col items-start gap-x-10 gap-y-5 rounded-lg bg-floodlight p-6 text-ink sm:p-9 md:flex-row md:items-center md:justify-between"
      >
        <div>
          <p className="font-display text-heading font-bold">{copy.demoTitle}</p>
          <p className="mt-1">{copy.demoText}</p>
        </div>
        <SectionLink
          section={SECTION.contact}
          className={buttonClass({ variant: 'ink', size: 'large', className: 'shrink-0' })}
        >
          {copy.demoAction}
        </SectionLink>
      </aside>
      {articles.length > 0 && (
        <section aria-labelledby="next-heading" className="mt-12 md:mt-16">
          <h2 id="next-heading" className="text-heading">
            {copy.next}
          </h2>
          <ul className="mt-6 grid gap-6 sm:grid-cols-2 md:gap-8">
            {articles.map((article) => (
              <li key={article.link}>
                <NextCard {...article} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

/** Shows an article to read on with. The whole card leads to it. */
function NextCard({ title, category, image_url, link }: NextArticle) {
  const picture = image_url
    ? storedPicture(image_url, ARTICLE_PICTURES, CARD_WIDTHS)
    : { src: PLACEHOLDER_IMAGE }
  return (
    <article className="group relative grid grid-cols-[6rem_1fr] gap-x-4 sm:block">
      <ImageWithFallback
        {...picture}
        alt=""
        width={640}
        height={360}
        className="aspect-square rounded-md bg-mist sm:aspect-video sm:w-full"
      />
      <div>
        <p className="eyebrow text-pitch sm:mt-4">{category}</p>
        <h3 className="mt-1 text-subheading">
          <Link to={link} className="group-hover:text-pitch after:absolute after:inset-0">
            {postTitle({ title, link })}
          </Link>
        </h3>
      </div>
    </article>
  )
}
