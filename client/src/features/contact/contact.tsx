import ArrowUpRight from 'lucide-react/icons/arrow-up-right'
import { useRef } from 'react'

import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { StepEdge } from '@/components/layout/step-edge'
import { SECTION } from '@/lib/sections'
import { useSiteSettings } from '@/lib/content/use-site-settings'

import { ContactForm } from './contact-form'
import { copy } from './copy'
import { useSuggestedMessage } from './use-suggested-message'

/** Shows how to reach the people behind Terrace. */
export function Contact() {
  const formRef = useRef<HTMLDivElement>(null)
  useSuggestedMessage(formRef)
  return (
    <Section
      id={SECTION.contact}
      tone="pitch"
      className="isolate overflow-hidden max-sm:pb-16 sm:pb-[clamp(5rem,2.6rem+10vw,16rem)]"
    >
      <CornerFlag />
      <div className="container-page grid gap-x-16 gap-y-6 md:gap-y-14 lg:grid-cols-2">
        <div className="flex flex-col justify-between gap-5 md:gap-14">
          <SectionHeading
            section={SECTION.contact}
            title={copy.title}
            lead={copy.lead}
            scale="loud"
          />
          <Ways />
        </div>
        <div ref={formRef} className="min-h-[37rem] sm:min-h-[40rem]">
          <ContactForm />
        </div>
      </div>
      <StepEdge steps={5} direction="up" className="h-[clamp(2.5rem,7vw,7rem)] text-ink" />
    </Section>
  )
}

/** Shows the ways that need no form. */
function Ways() {
  const { contactEmail, contactPhone, linkedinUrl } = useSiteSettings()
  const ways = [
    { label: copy.email, text: contactEmail, href: `mailto:${contactEmail}` },
    { label: copy.phone, text: contactPhone, href: `tel:${contactPhone.replace(/[^+\d]/g, '')}` },
    { label: copy.network, text: copy.networkName, href: linkedinUrl },
  ]
  return (
    <dl className="flex flex-col">
      {ways.map(({ label, text, href }) => (
        <div
          key={label}
          className="grid grid-cols-[5.5rem_1fr] items-baseline gap-x-3 border-t border-chalk/40 py-2 last:border-b sm:grid-cols-[7rem_1fr] sm:gap-x-8 sm:py-4"
        >
          <dt className="text-small font-semibold text-chalk/90">{label}</dt>
          <dd>
            <a
              href={href}
              {...(href.startsWith('http') && { target: '_blank', rel: 'noopener noreferrer' })}
              className="inline-flex min-h-8 items-center gap-1 font-display text-subheading font-semibold wrap-anywhere hover:text-floodlight max-sm:text-body sm:gap-2.5"
            >
              {text}
              <ArrowUpRight aria-hidden className="size-5 shrink-0 max-sm:size-4" />
            </a>
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Shows the quarter circle at the corner of a pitch. */
function CornerFlag() {
  return (
    <svg
      aria-hidden
      viewBox="0 0 400 400"
      fill="none"
      strokeWidth={2}
      className="absolute top-0 right-0 -z-10 w-[min(60vw,44rem)] stroke-chalk/25"
    >
      <circle cx={400} cy={0} r={320} />
      <circle cx={400} cy={0} r={180} />
      <circle cx={400} cy={0} r={60} className="fill-pitch-mid" />
    </svg>
  )
}
