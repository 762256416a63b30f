import { ImageWithFallback } from '@/components/ui/image-with-fallback'
import { storedFileUrl } from '@/lib/storage-url'

import type { Testimonial } from './queries'

/** A ticket: the quote on the wide part, the person on the stub. */
export function TestimonialCard({ name, title, quote, about, image_path }: Testimonial) {
  return (
    <figure className="relative flex h-full flex-col bg-chalk sm:flex-row">
      <figcaption className="flex gap-5 p-6 sm:w-48 sm:shrink-0 sm:flex-col sm:gap-0 sm:p-7">
        <ImageWithFallback
          src={storedFileUrl(image_path ?? '', 'experts')}
          alt=""
          width={136}
          height={136}
          className="aspect-square w-24 shrink-0 rounded-md bg-mist sm:w-full"
        />
        <span className="sm:mt-5">
          <span className="block font-display text-subheading font-semibold">{name}</span>
          <span className="mt-1 block text-small text-stone">{title}</span>
        </span>
      </figcaption>
      <Perforation />
      <div className="flex flex-1 flex-col justify-between gap-6 p-6 pt-7 sm:p-8">
        <blockquote className="font-display text-subheading font-medium">“{quote}”</blockquote>
        {about && <p className="text-small text-stone">{about}</p>}
      </div>
    </figure>
  )
}

/** The dashed line between stub and ticket, with the punched half circles at its ends. */
function Perforation() {
  const hole = 'absolute size-5 rounded-full bg-paper'
  return (
    <div
      aria-hidden
      className="relative mx-6 border-t-2 border-dashed border-line sm:mx-0 sm:my-6 sm:border-t-0 sm:border-l-2"
    >
      <span
        className={`${hole} -top-2.5 -left-8.5 sm:-top-8.5 sm:-left-2.75`}
      />
      <span
        className={`${hole} -top-2.5 -right-8.5 sm:top-auto sm:right-auto sm:-bottom-8.5 sm:-left-2.75`}
      />
    </div>
  )
}
