import { Portrait } from '@/components/ui/portrait'
import type { Testimonial } from '@/lib/content/testimonials'

/** Shows the first expert's quote in large letters, over the person who says it. */
export function LeadCard({ name, title, quote, about, image_path }: Testimonial) {
  return (
    <figure className="flex h-full flex-col justify-between gap-6 rounded-lg bg-pitch-deep p-6 text-chalk max-md:py-5 lg:p-12">
      <blockquote className="font-display text-subheading font-medium lg:text-topic lg:leading-[1.14]">
        “{quote}”
      </blockquote>
      <figcaption className="grid grid-cols-[6rem_1fr] gap-x-5 gap-y-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,3fr)] lg:grid-rows-[1fr_auto] lg:gap-x-8 lg:gap-y-3">
        <div className="lg:row-span-2">
          <Portrait name={name} imagePath={image_path} size={240} />
        </div>
        <div className="lg:self-end">
          <p className="font-display text-subheading font-semibold">{name}</p>
          <p className="mt-1 text-small text-haze">{title}</p>
        </div>
        <p className="col-span-2 text-small text-chalk/90 lg:col-span-1">{about}</p>
      </figcaption>
    </figure>
  )
}
