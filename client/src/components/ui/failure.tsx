import { reloadPage } from '@/lib/loading/reload'

import { Button } from './button'

interface FailureProps {
  message: string
  retryLabel: string
  /** What the button does; by default it reloads the page. */
  onRetry?: () => void
}

/** Shows a message that something could not be loaded, with a button that tries again, and keeps what was typed elsewhere on the page. */
export function Failure({ message, retryLabel, onRetry = reloadPage }: FailureProps) {
  return (
    <div
      role="alert"
      className="flex flex-col items-start gap-5 self-start border-l-4 border-flare py-2 pl-6"
    >
      <p className="text-lead">{message}</p>
      <Button variant="outline" onClick={onRetry}>
        {retryLabel}
      </Button>
    </div>
  )
}
