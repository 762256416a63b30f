import { ArrowUpRight } from 'lucide-react'

import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { StepEdge } from '@/components/layout/step-edge'
import { SECTION } from '@/lib/sections'
import { useSiteSettings } from '@/lib/use-site-settings'

import { copy } from './copy'

/** How to reach the people behind Terrace. */
export function Contact() {
  const { contactEmail, contactPhone, linkedinUrl } = useSiteSettings()
  const ways = [
    { label: copy.email, text: contactEmail, href: `mailto:${contactEmail}` },
    { label: copy.phone, text: contactPhone, href: `tel:${contactPhone.replace(/[^+\d]/g, '')}` },
    { label: copy.network, text: copy.networkName, href: linkedinUrl },
  ]
  return (
    <Section
      id={SECTION.contact}
      tone="pitch"
      className="isolate overflow-hidden pb-[clamp(8rem,6rem+10vw,16rem)]"
    >
      <CornerFlag />
      <div className="container-page">
        <SectionHeading section={SECTION.contact} title={copy.title} lead={copy.lead} />
        <Reveal className="mt-14">
          <dl className="flex flex-col">
            {ways.map(({ label, text, href }) => (
              <div
                key={label}
                className="grid gap-x-10 border-t border-chalk/40 py-6 last:border-b md:grid-cols-[12rem_1fr] md:items-baseline"
              >
                <dt className="text-small font-semibold text-chalk/90">{label}</dt>
                <dd>
                  <a
                    href={href}
                    {...(href.startsWith('http') && {
                      target: '_blank',
                      rel: 'noopener noreferrer',
                    })}
                    className="inline-flex items-center gap-3 font-display text-heading font-semibold wrap-anywhere hover:text-floodlight"
                  >
                    {text}
                    <ArrowUpRight aria-hidden className="size-6 shrink-0" />
                  </a>
                </dd>
              </div>
            ))}
          </dl>
        </Reveal>
      </div>
      <StepEdge steps={5} direction="up" className="h-[clamp(2.5rem,7vw,7rem)] text-ink" />
    </Section>
  )
}

/** The quarter circle at the corner of a pitch. */
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
