import ArrowUpRight from 'lucide-react/icons/arrow-up-right'

import { Link } from '@/components/layout/link'
import { ImageWithFallback, PLACEHOLDER_IMAGE } from '@/components/ui/image-with-fallback'
import { postTitle } from '@/lib/content/post-title'
import { CARD_WIDTHS } from '@/lib/pictures'
import { storedPicture } from '@/lib/supabase/storage-url'

import { copy } from './copy'
import type { Post } from './queries'

/** Shows an article's picture, heading and summary. The whole card leads to it; its name is the title's. */
export function PostCard({ title, category, description, image_url, link }: Post) {
  return (
    <article className="group relative flex flex-col">
      <div className="overflow-hidden rounded-md bg-mist">
        <ImageWithFallback
          {...(image_url
            ? storedPicture(image_url, 'blog-images', CARD_WIDTHS)
            : { src: PLACEHOLDER_IMAGE })}
          alt=""
          width={640}
          height={360}
          className="aspect-video w-full transition-transform duration-500 ease-out group-hover:scale-[1.03]"
        />
      </div>
      <p className="mt-4 eyebrow text-pitch md:mt-5">{category}</p>
      <h3 className="mt-1.5 text-subheading md:mt-2 lg:text-[1.5rem]">
        <Link to={link} className="group-hover:text-pitch after:absolute after:inset-0">
          {postTitle({ title, link })}
        </Link>
      </h3>
      <p className="mt-2 text-stone max-md:text-small md:mt-3">{description}</p>
      <span
        aria-hidden
        className="mt-3 inline-flex items-center gap-1.5 text-small font-semibold underline-offset-4 group-hover:underline md:mt-5"
      >
        {copy.read}
        <ArrowUpRight className="size-4 transition-transform group-hover:translate-x-0.5 group-hover:-translate-y-0.5" />
      </span>
    </article>
  )
}
