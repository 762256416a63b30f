import { useEffect } from 'react'

import { Benefits } from '@/features/benefits/benefits'
import { Challenge } from '@/features/challenge/challenge'
import { Contact } from '@/features/contact/contact'
import { Faq } from '@/features/faq/faq'
import { useFaqs } from '@/features/faq/queries'
import { Hero } from '@/features/hero/hero'
import { Insights } from '@/features/insights/insights'
import { Intro } from '@/features/intro/intro'
import { Solution } from '@/features/solution/solution'
import { Testimonials } from '@/features/testimonials/testimonials'
import { Urgency } from '@/features/urgency/urgency'
import { useAreSettingsLoaded, useSiteSettings } from '@/lib/content/use-site-settings'

import { HashScroll } from '../hash-scroll'
import { setJsonLd } from '../head-elements'
import { PageHead } from '../page-head'
import { faqPage, organization, siteOf } from '../structured-data'

export const FirstScreen = Hero

/** Shows the home page: its sections in the order of the pitch. */
export default function HomePage() {
  return (
    <>
      {/* The structured data is added below. */}
      <PageHead jsonLd={undefined} />
      <Hero />
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

/** Adds structured data about the organisation and its questions for search engines. */
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
