import { About } from '@/features/about/about'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'

export default function AboutPage() {
  return (
    <>
      <PageHead />
      <About />
      <HashScroll />
    </>
  )
}
