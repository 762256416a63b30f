import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { SKELETONS } from '@/lib/constants'
import { useJobOpenings, type JobOpening } from '@/lib/content/job-openings'
import { messages } from '@/lib/notices/messages'
import { scrollToElement } from '@/lib/browser/scroll'
import { SECTION } from '@/lib/sections'
import { useErrorToast } from '@/lib/notices/use-error-toast'

import { copy } from './copy'

interface OpenRolesProps {
  /** Called with the id of the role that the visitor is interested in. */
  onChoose: (roleId: string) => void
}

/** Shows the open positions. Choosing one leads to the form or, if the page has none, to a mail. */
export function OpenRoles({ onChoose }: OpenRolesProps) {
  const { data: openings, error, isPending } = useJobOpenings()
  useErrorToast(openings ? null : error, messages.jobs.openingsFailed)

  return (
    <Section id={SECTION.jobs} tone="mist">
      <div className="container-page">
        <SectionHeading
          section={SECTION.jobs}
          title={copy.rolesTitle}
          lead={copy.rolesLead}
          split
        />
        <div className="mt-14 lg:mt-20">
          {isPending ? (
            <div role="status" aria-label={copy.rolesLoading} className={GRID}>
              {Array.from({ length: SKELETONS.jobRoles }, (_, index) => (
                <Skeleton key={index} className="h-72" />
              ))}
            </div>
          ) : (
            <RoleList openings={openings ?? []} onChoose={onChoose} />
          )}
        </div>
      </div>
    </Section>
  )
}

const GRID = 'grid gap-5 md:grid-cols-2 lg:gap-7'

interface RoleListProps extends OpenRolesProps {
  openings: readonly JobOpening[]
}

function RoleList({ openings, onChoose }: RoleListProps) {
  if (openings.length === 0) return <p className="text-lead">{copy.rolesEmpty}</p>

  const choose = ({ id, title }: JobOpening) => {
    onChoose(id)
    if (scrollToElement(SECTION.application, 'smooth')) return
    const subject = encodeURIComponent(copy.mailSubject(title))
    window.location.assign(`mailto:${copy.mailbox}?subject=${subject}`)
  }
  return (
    <ul className={GRID}>
      {openings.map((opening) => (
        <li
          key={opening.id}
          className="flex flex-col items-start gap-4 rounded-lg bg-chalk p-6 sm:p-8"
        >
          <span
            aria-hidden
            className="grid size-14 place-items-center rounded-md bg-paper text-[1.75rem] leading-none"
          >
            {opening.emoji}
          </span>
          <h3 className="text-heading">{opening.title}</h3>
          <p className="max-w-[56ch] whitespace-pre-line text-stone">{opening.description}</p>
          <Button
            variant="ink"
            className="mt-auto"
            aria-label={copy.getInTouchAbout(opening.title)}
            onClick={() => choose(opening)}
          >
            {copy.getInTouch}
          </Button>
        </li>
      ))}
    </ul>
  )
}
