import { Plus } from 'lucide-react'
import { Accordion as Primitive } from 'radix-ui'
import type { ComponentProps } from 'react'

import { cn } from '@/lib/cn'

export const Accordion = Primitive.Root

export function AccordionItem({ className, ...props }: ComponentProps<typeof Primitive.Item>) {
  return (
    <Primitive.Item className={cn('border-t border-ink/20 last:border-b', className)} {...props} />
  )
}

export function AccordionTrigger({ children, ...props }: ComponentProps<typeof Primitive.Trigger>) {
  return (
    <Primitive.Header>
      <Primitive.Trigger
        className="group flex w-full items-start justify-between gap-6 py-3 text-left font-display text-subheading font-semibold transition-colors hover:text-pitch sm:py-6"
        {...props}
      >
        {children}
        <Plus
          aria-hidden
          className="mt-0.5 size-6 shrink-0 transition-transform duration-300 ease-out group-data-[state=open]:rotate-45"
        />
      </Primitive.Trigger>
    </Primitive.Header>
  )
}

export function AccordionContent({ children, ...props }: ComponentProps<typeof Primitive.Content>) {
  return (
    <Primitive.Content
      // Wider than its text, so that the ring of a focused button in it is not cut off.
      className="-mx-2 overflow-hidden px-2 data-[state=closed]:animate-accordion-close data-[state=open]:animate-accordion-open"
      {...props}
    >
      <div className="max-w-prose pr-10 pb-7">{children}</div>
    </Primitive.Content>
  )
}
