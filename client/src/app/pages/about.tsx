import { About, AboutHero } from '@/features/about/about'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'

export const FirstScreen = AboutHero

export default function AboutPage() {
  return (
    <>
      <PageHead />
      <About />
      <HashScroll />
    </>
  )
}
