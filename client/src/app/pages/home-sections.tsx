import { useEffect } from 'react'

import { Benefits } from '@/features/benefits/benefits'
import { Challenge } from '@/features/challenge/challenge'
import { Contact } from '@/features/contact/contact'
import { Faq } from '@/features/faq/faq'
import { useFaqs } from '@/features/faq/queries'
import { Insights } from '@/features/insights/insights'
import { Intro } from '@/features/intro/intro'
import { Solution } from '@/features/solution/solution'
import { Testimonials } from '@/features/testimonials/testimonials'
import { Urgency } from '@/features/urgency/urgency'
import { useAreSettingsLoaded, useSiteSettings } from '@/lib/content/use-site-settings'

import { HashScroll } from '../hash-scroll'
import { setJsonLd } from '../head-elements'
import { faqPage, organization, siteOf } from '../structured-data'

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
      <HomeStructuredData />
    </>
  )
}

/** Tells search engines whose site this is, and the questions that it answers. */
function HomeStructuredData() {
  const settings = useSiteSettings()
  const isLoaded = useAreSettingsLoaded()
  const { data: faqs, isPending } = useFaqs()
  useEffect(() => {
    if (!isLoaded || isPending) return
    setJsonLd([organization(siteOf(settings)), ...(faqs?.length ? [faqPage(faqs)] : [])])
  }, [settings, isLoaded, faqs, isPending])
  return null
}
