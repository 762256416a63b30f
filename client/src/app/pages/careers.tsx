import { useMemo, useState } from 'react'

import { Application } from '@/features/application/application'
import type { RoleChoice } from '@/features/application/use-application-form'
import { Careers, CareersFirstScreen } from '@/features/careers/careers'
import { useJobOpenings } from '@/lib/content/job-openings'
import { useSiteSettings } from '@/lib/content/use-site-settings'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'
import { jobPosting, siteOf } from '../structured-data'

export const FirstScreen = CareersFirstScreen

export default function CareersPage() {
  const [choice, setChoice] = useState<RoleChoice>()
  const settings = useSiteSettings()
  const { data: openings } = useJobOpenings()
  const jsonLd = useMemo(
    () => openings?.map((opening) => jobPosting(opening, siteOf(settings))),
    [openings, settings],
  )
  return (
    <>
      <PageHead jsonLd={jsonLd} />
      <Careers onChooseRole={(roleId) => setChoice({ roleId })}>
        <Application choice={choice} />
      </Careers>
      <HashScroll />
    </>
  )
}
