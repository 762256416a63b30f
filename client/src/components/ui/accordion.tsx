import Plus from 'lucide-react/icons/plus'
import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'

import { cn } from '@/lib/cn'

interface AccordionItem {
  id: string
  title: string
  content: ReactNode
  className?: string
}

/** Shows titles that open their content, one at a time. The arrow keys, Home and End move between the titles. */
export function Accordion({ items }: { items: readonly AccordionItem[] }) {
  const [openId, setOpenId] = useState<string>()
  const ref = useRef<HTMLDivElement>(null)

  const moveFocus = (event: KeyboardEvent<HTMLButtonElement>) => {
    const buttons = [...(ref.current?.querySelectorAll<HTMLElement>('h3 > button') ?? [])]
    const targets = targetsOf(event.key, buttons, buttons.indexOf(event.currentTarget))
    if (!targets) return
    event.preventDefault()
    for (const target of targets) {
      target.focus()
      // A title that is not displayed does not take the focus.
      if (document.activeElement === target) return
    }
  }
  return (
    <div ref={ref}>
      {items.map(({ id, title, content, className }) => (
        <div key={id} className={cn('border-t border-ink/20 last:border-b', className)}>
          <Disclosure
            title={title}
            isOpen={id === openId}
            onToggle={() => setOpenId(id === openId ? undefined : id)}
            onKeyDown={moveFocus}
          >
            {content}
          </Disclosure>
        </div>
      ))}
    </div>
  )
}

/** Returns the elements that may take the focus from the one at `index`, the preferred one first. */
function targetsOf<Target>(key: string, all: readonly Target[], index: number) {
  switch (key) {
    case 'ArrowDown':
      return [...all.slice(index + 1), ...all.slice(0, index)]
    case 'ArrowUp':
      return [...all.slice(index + 1), ...all.slice(0, index)].reverse()
    case 'Home':
      return all
    case 'End':
      return [...all].reverse()
    default:
      return undefined
  }
}

interface DisclosureProps {
  title: string
  isOpen: boolean
  onToggle: () => void
  onKeyDown: (event: KeyboardEvent<HTMLButtonElement>) => void
  children: ReactNode
}

function Disclosure({ title, isOpen, onToggle, onKeyDown, children }: DisclosureProps) {
  const titleId = useId()
  const contentId = useId()
  return (
    <>
      <h3>
        <button
          type="button"
          id={titleId}
          aria-expanded={isOpen}
          aria-controls={contentId}
          onClick={onToggle}
          onKeyDown={onKeyDown}
          className="group flex w-full items-start justify-between gap-6 py-3 text-left font-display text-subheading font-semibold transition-colors hover:text-pitch sm:py-6"
        >
          {title}
          <Plus
            aria-hidden
            className="mt-0.5 size-6 shrink-0 transition-transform duration-300 ease-out group-aria-expanded:rotate-45"
          />
        </button>
      </h3>
      <div
        role="region"
        id={contentId}
        aria-labelledby={titleId}
        hidden={!isOpen}
        className="grid animate-unfold grid-rows-[1fr]"
      >
        {isOpen && (
          // Wider than its text, so that the ring of a focused button in it is not cut off.
          <div className="-mx-2 min-h-0 overflow-hidden px-2">
            <div className="max-w-prose pr-10 pb-7">{children}</div>
          </div>
        )}
      </div>
    </>
  )
}
