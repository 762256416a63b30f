import { copy } from './copy'
import { FooterForm } from './footer-form'

/** Shows the band above the footer's links: why to subscribe, and the form. */
export function Newsletter() {
  return (
    <div className="grid gap-x-16 gap-y-5 border-b border-line-dark pb-9 md:pb-14 lg:grid-cols-[minmax(0,5fr)_minmax(0,6fr)]">
      <div>
        <h2 className="font-display text-heading font-bold">{copy.title}</h2>
        <p className="mt-1.5 max-w-[40ch] text-body text-haze">{copy.lead}</p>
      </div>
      <div className="min-h-44 sm:min-h-32">
        <FooterForm />
      </div>
    </div>
  )
}
