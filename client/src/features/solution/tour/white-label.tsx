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
      className="bg-ink text-chalk md:[&>figcaption]:absolute md:[&>figcaption]:bottom-2 md:[&>figcaption]:left-2 md:[&>figcaption]:max-w-[46%]"
    >
      <div className="flex grow flex-col gap-3 p-4 sm:p-6 md:flex-row md:items-center md:gap-8 md:p-8">
        <div className="flex grow flex-col gap-2 max-md:order-last md:gap-5 md:pb-24">
          <label className="flex items-center gap-3 text-small font-semibold md:flex-col md:items-stretch md:gap-1.5">
            <span className="shrink-0">{label.name}</span>
            <input
              type="text"
              maxLength={24}
              autoComplete="off"
              value={setUp.name}
              placeholder={club.name}
              onChange={({ target }) => onChange({ name: target.value })}
              className="h-11 w-full min-w-0 rounded-md bg-ink-raised px-3.5 font-normal text-chalk ring-1 ring-haze ring-inset placeholder:text-haze"
            />
          </label>
          <div className="flex flex-wrap gap-x-6 md:gap-y-4">
            <Choices label={label.crest}>
              {copy.clubs.map(({ emblem, crest }, index) => (
                <span key={emblem} className="relative grid size-11 place-items-center md:size-12">
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
                  className="relative grid size-11 place-items-center md:size-12"
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

/** Shows radio buttons in a row, with their name above them, or beside them on a phone. */
function Choices({ label, children }: { label: string; children: ReactNode }) {
  return (
    <fieldset className="max-md:flex max-md:w-full max-md:items-center">
      <legend className="text-small font-semibold max-md:float-left max-md:w-16">{label}</legend>
      <div className="flex md:mt-1.5 md:-ml-1.5">{children}</div>
    </fieldset>
  )
}
