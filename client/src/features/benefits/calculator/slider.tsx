import { useId } from 'react'

interface SliderProps {
  label: string
  /** The values to choose from, in ascending order. */
  steps: readonly number[]
  value: number
  format: (value: number) => string
  onChange: (value: number) => void
}

/** Shows a range input over a list of values, with its label and the chosen value. */
export function Slider({ label, steps, value, format, onChange }: SliderProps) {
  const id = useId()
  return (
    <div>
      <div className="flex items-baseline justify-between gap-4">
        <label htmlFor={id} className="text-small text-haze">
          {label}
        </label>
        <span aria-hidden className="font-display text-subheading font-semibold tabular-nums">
          {format(value)}
        </span>
      </div>
      <input
        id={id}
        type="range"
        min={0}
        max={steps.length - 1}
        value={steps.indexOf(value)}
        aria-valuetext={format(value)}
        onChange={({ target }) => onChange(steps[target.valueAsNumber] ?? value)}
        className="slider h-7 w-full touch-pan-y sm:mt-1 sm:h-8"
      />
    </div>
  )
}
