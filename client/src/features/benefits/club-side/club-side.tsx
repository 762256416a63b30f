import { copy } from './copy'
import { Dashboard } from './dashboard'
import { Moderation } from './moderation'

/** Shows what the club's own people see: their income, and the messages of their fans. */
export function ClubSide() {
  return (
    <div className="mt-10 lg:mt-24">
      <div className="flex gap-3 max-md:-mx-5 max-md:snap-x max-md:snap-mandatory max-md:scroll-px-5 max-md:overflow-x-auto max-md:px-5 max-md:pb-3 sm:gap-4 md:grid lg:grid-cols-[minmax(0,7fr)_minmax(0,5fr)]">
        <Dashboard />
        <Moderation />
      </div>
      <p className="mt-3 text-label text-stone">{copy.note}</p>
    </div>
  )
}
