import { Benefits } from '@/features/benefits/benefits'
import { Challenge } from '@/features/challenge/challenge'
import { Contact } from '@/features/contact/contact'
import { Faq } from '@/features/faq/faq'
import { Insights } from '@/features/insights/insights'
import { Intro } from '@/features/intro/intro'
import { Solution } from '@/features/solution/solution'
import { Testimonials } from '@/features/testimonials/testimonials'
import { Urgency } from '@/features/urgency/urgency'

import { HashScroll } from '../hash-scroll'

/** The home page below its hero, in the order in which the pitch is told. */
export default function HomeSections() {
  return (
    <>
      <Intro />
      <Challenge />
      <Solution />
      <Testimonials />
      <Benefits />
      <Urgency />
      <Insights />
      <Faq />
      <Contact />
      <HashScroll />
    </>
  )
}
