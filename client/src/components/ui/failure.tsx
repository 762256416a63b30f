import { Button } from './button'

interface FailureProps {
  message: string
  retryLabel: string
}

/** Shows a message that something could not be loaded, with a button that reloads the page. */
export function Failure({ message, retryLabel }: FailureProps) {
  return (
    <div
      role="alert"
      className="flex flex-col items-start gap-5 self-start border-l-4 border-flare py-2 pl-6"
    >
      <p className="text-lead">{message}</p>
      <Button variant="outline" onClick={() => window.location.reload()}>
        {retryLabel}
      </Button>
    </div>
  )
}
