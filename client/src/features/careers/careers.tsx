import ArrowDown from 'lucide-react/icons/arrow-down'
import type { ReactNode } from 'react'

import { DotMatrix } from '@/components/layout/dot-matrix'
import { Link } from '@/components/layout/link'
import { PageHero } from '@/components/layout/page-hero'
import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { buttonClass } from '@/components/ui/button-class'
import { TESTIMONIAL_STAGGER_MS } from '@/lib/constants'
import { SECTION } from '@/lib/sections'

import { copy } from './copy'
import { OpenRoles } from './open-roles'

interface CareersProps {
  onChooseRole: (roleId: string) => void
  /** The application form, at the end. */
  children?: ReactNode
}

/** Shows the sections about working at Terrace. */
export function Careers({ onChooseRole, children }: CareersProps) {
  return (
    <>
      <CareersFirstScreen />
      <OpenRoles onChoose={onChooseRole} />
      <How />
      {children}
    </>
  )
}

/**
 * Shows the first screen: whom Terrace is looking for, and who that is, whose text is the largest on a phone's
 * screen.
 */
export function CareersFirstScreen() {
  return (
    <>
      <CareersHero />
      <Who />
    </>
  )
}

function CareersHero() {
  return (
    <PageHero
      title={copy.title}
      lead={
        <>
          <p className="font-display font-semibold text-balance text-floodlight">{copy.tagline}</p>
          <p className="mt-4 text-body text-haze">{copy.demoNote}</p>
        </>
      }
      aside={
        <div className="w-[min(24rem,30vw)] max-md:hidden xl:mr-10">
          <DotMatrix text={copy.board} className="h-auto w-full" />
        </div>
      }
    >
      <Link
        to={{ hash: SECTION.jobs }}
        className={buttonClass({ variant: 'floodlight', size: 'large', className: 'mt-10' })}
      >
        {copy.seeRoles}
        <ArrowDown aria-hidden className="size-5" />
      </Link>
    </PageHero>
  )
}

function Who() {
  return (
    <Section id="who" tone="paper">
      <div className="container-page">
        <Reveal className="grid gap-x-16 gap-y-6 rounded-lg bg-pitch-deep p-7 text-chalk sm:p-12 lg:grid-cols-[minmax(0,4fr)_minmax(0,7fr)]">
          <SectionHeading section="who" title={copy.whoTitle} />
          <p className="max-w-[60ch] text-lead">{copy.who}</p>
        </Reveal>
        <div className="mt-16 grid gap-x-10 gap-y-12 md:grid-cols-3 lg:mt-20">
          {copy.intro.map(({ title, text }, index) => (
            <Reveal
              key={title}
              delayMs={index * TESTIMONIAL_STAGGER_MS}
              className="border-t-4 border-ink pt-6"
            >
              <h3 className="text-heading">{title}</h3>
              <p className="mt-3 max-w-[48ch]">{text}</p>
            </Reveal>
          ))}
        </div>
      </div>
    </Section>
  )
}

/** The vertical offset of each card, so that they form a stair on wide screens. */
const CLIMB = ['xl:mt-24', 'xl:mt-16', 'xl:mt-8', '']

function How() {
  return (
    <Section id="how" tone="ink" className="pb-[clamp(5rem,4rem+5vw,9rem)]">
      <div className="container-page">
        <SectionHeading section="how" title={copy.howTitle} />
        <ul className="mt-14 grid gap-5 sm:grid-cols-2 xl:mt-4 xl:grid-cols-4">
          {copy.how.map(({ title, text }, index) => (
            <li key={title} className={CLIMB[index]}>
              <Reveal
                delayMs={index * TESTIMONIAL_STAGGER_MS}
                className="h-full rounded-lg bg-ink-raised p-7"
              >
                <h3 className="text-subheading text-floodlight">{title}</h3>
                <p className="mt-3 text-haze">{text}</p>
              </Reveal>
            </li>
          ))}
        </ul>
      </div>
    </Section>
  )
}
