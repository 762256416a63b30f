import X from 'lucide-react/icons/x'
import { Dialog } from 'radix-ui'
import type { ReactNode } from 'react'

import { Shade } from './shade'

export const Sheet = Dialog.Root

interface SheetContentProps {
  title: string
  closeLabel: string
  /** Called when the panel has closed, to restore the focus. */
  onLeave: () => void
  children: ReactNode
}

/** Shows a panel that slides in from the right and traps the focus until it is closed. */
export function SheetContent({ title, closeLabel, onLeave, children }: SheetContentProps) {
  return (
    <Dialog.Portal>
      <Shade />
      <Dialog.Content
        aria-describedby={undefined}
        onCloseAutoFocus={onLeave}
        className="fixed inset-y-0 right-0 z-50 flex w-full max-w-sm flex-col overflow-y-auto bg-ink p-5 text-chalk data-[state=closed]:animate-slide-out data-[state=open]:animate-slide-in"
      >
        <div className="flex items-center justify-between">
          <Dialog.Title className="font-display text-subheading font-semibold">
            {title}
          </Dialog.Title>
          <Dialog.Close
            aria-label={closeLabel}
            className="grid size-11 place-items-center rounded-md hover:bg-ink-raised"
          >
            <X aria-hidden className="size-6" />
          </Dialog.Close>
        </div>
        {children}
      </Dialog.Content>
    </Dialog.Portal>
  )
}
