import { Portrait } from '@/components/ui/portrait'
import type { Testimonial } from '@/lib/content/testimonials'

/** Shows a ticket: the person on the stub, the quote on the rest. The stub is beside it where there is room. */
export function TestimonialCard({ name, title, quote, about, image_path }: Testimonial) {
  return (
    <div className="@container h-full">
      <figure className="flex h-full flex-col rounded-lg bg-chalk @lg:flex-row">
        <figcaption className="flex gap-5 p-6 max-md:py-5 @lg:w-48 @lg:shrink-0 @lg:flex-col @lg:p-7">
          <div className="w-24 shrink-0 @lg:w-full">
            <Portrait name={name} imagePath={image_path} size={136} />
          </div>
          <div>
            <p className="font-display text-subheading font-semibold">{name}</p>
            <p className="mt-1 text-small text-stone">{title}</p>
          </div>
        </figcaption>
        <Perforation />
        <div className="flex flex-1 flex-col justify-between gap-6 p-6 pt-7 max-md:gap-4 max-md:py-5 @lg:p-8">
          <blockquote className="font-display text-subheading font-medium">“{quote}”</blockquote>
          <p className="text-small text-stone">{about}</p>
        </div>
      </figure>
    </div>
  )
}

const HOLE = 'absolute size-5 rounded-full bg-paper'

/** Shows the dashed line between stub and ticket, with the punched half circles at its ends. */
function Perforation() {
  return (
    <div
      aria-hidden
      className="relative mx-6 border-t-2 border-dashed border-line @lg:mx-0 @lg:my-6 @lg:border-t-0 @lg:border-l-2"
    >
      <span className={`${HOLE} -top-2.75 -left-8.5 @lg:-top-8.5 @lg:-left-2.75`} />
      <span
        className={`${HOLE} -top-2.75 -right-8.5 @lg:top-auto @lg:-right-2.25 @lg:-bottom-8.5`}
      />
    </div>
  )
}
