import { copy } from './copy'
import { Dashboard } from './dashboard'
import { Moderation } from './moderation'

/** Shows what the club's own people see: their income, and the messages of their fans. */
export function ClubSide() {
  return (
    <div className="mt-14 lg:mt-24">
      <div className="grid gap-3 sm:gap-4 lg:grid-cols-[minmax(0,7fr)_minmax(0,5fr)]">
        <Dashboard />
        <Moderation />
      </div>
      <p className="mt-3 text-label text-stone">{copy.note}</p>
    </div>
  )
}
