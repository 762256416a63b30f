import { Cookies } from '@/features/legal/cookies'
import { Imprint } from '@/features/legal/imprint'
import { Privacy } from '@/features/legal/privacy'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'

const PAGES = { privacy: Privacy, cookies: Cookies, imprint: Imprint }

/** One of the three legal pages. */
export default function LegalPage({ page }: { page: keyof typeof PAGES }) {
  const Page = PAGES[page]
  return (
    <>
      <PageHead />
      <Page />
      <HashScroll />
    </>
  )
}
