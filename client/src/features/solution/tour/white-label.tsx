import type { ReactNode } from 'react'

import { Crest } from '@/components/vignette/crest'
import { Vignette } from '@/components/vignette/vignette'

import type { Club } from './club'
import { copy } from './copy'
import { FanApp } from './fan-app'

const { label } = copy

/** What the visitor has set up: the places of crest and colours in their lists, and the club's name. */
interface SetUp {
  emblem: number
  colours: number
  name: string
}

interface WhiteLabelProps {
  club: Club
  balance: number
  setUp: SetUp
  onChange: (change: Partial<SetUp>) => void
}

/** Shows the app in a phone, beside the controls of its name, crest and colours. */
export function WhiteLabel({ club, balance, setUp, onChange }: WhiteLabelProps) {
  return (
    <Vignette
      title={label.title}
      text={label.text}
      className="bg-ink text-chalk max-md:w-[min(82vw,20rem)] max-md:shrink-0 max-md:snap-center md:col-span-2 md:[&>figcaption]:absolute md:[&>figcaption]:bottom-2 md:[&>figcaption]:left-2 md:[&>figcaption]:max-w-[46%]"
    >
      <div className="flex grow flex-col gap-5 p-5 sm:p-6 md:flex-row md:items-center md:gap-8 md:p-8">
        <div className="flex grow flex-col gap-5 max-md:order-last md:pb-24">
          <label className="flex flex-col gap-1.5 text-small font-semibold">
            {label.name}
            <input
              type="text"
              maxLength={24}
              autoComplete="off"
              value={setUp.name}
              placeholder={club.name}
              onChange={({ target }) => onChange({ name: target.value })}
              className="h-11 w-full rounded-md bg-ink-raised px-3.5 font-normal text-chalk ring-1 ring-haze ring-inset placeholder:text-haze"
            />
          </label>
          <div className="flex flex-wrap gap-x-6 gap-y-4">
            <Choices label={label.crest}>
              {copy.clubs.map(({ emblem, crest }, index) => (
                <span key={emblem} className="relative grid size-12 place-items-center">
                  <Crest emblem={emblem} className="h-9" />
                  <input
                    type="radio"
                    name="tour-crest"
                    aria-label={crest}
                    checked={setUp.emblem === index}
                    onChange={() => onChange({ emblem: index })}
                    className={CHOICE}
                  />
                </span>
              ))}
            </Choices>
            <Choices label={label.colours}>
              {copy.colours.map(({ id, label: name }, index) => (
                <span
                  key={id}
                  data-colours={id}
                  className="relative grid size-12 place-items-center"
                >
                  <span
                    aria-hidden
                    className="size-8 rotate-45 overflow-hidden rounded-full bg-(--club-deep) ring-2 ring-chalk/70"
                  >
                    <span className="block h-full w-1/2 bg-(--club-bright)" />
                  </span>
                  <input
                    type="radio"
                    name="tour-colours"
                    aria-label={name}
                    checked={setUp.colours === index}
                    onChange={() => onChange({ colours: index })}
                    className={CHOICE}
                  />
                </span>
              ))}
            </Choices>
          </div>
        </div>
        <FanApp club={club} balance={balance} />
      </div>
    </Vignette>
  )
}

/** A radio button over its picture: a frame that is there if it is chosen. */
const CHOICE =
  'absolute inset-0 cursor-pointer appearance-none rounded-md hover:bg-chalk/10 checked:ring-2 checked:ring-floodlight checked:ring-inset'

/** Shows radio buttons in a row, with their name above them. */
function Choices({ label, children }: { label: string; children: ReactNode }) {
  return (
    <fieldset>
      <legend className="text-small font-semibold">{label}</legend>
      <div className="mt-1.5 -ml-1.5 flex">{children}</div>
    </fieldset>
  )
}
