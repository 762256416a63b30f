import { useId } from 'react'

interface ChoiceGroupProps<T extends string> {
  label: string
  choices: readonly T[]
  value: T
  onChange: (value: T) => void
}

/** Radio buttons that look like buttons; arrow keys move between them. */
export function ChoiceGroup<T extends string>({
  label,
  choices,
  value,
  onChange,
}: ChoiceGroupProps<T>) {
  const name = useId()
  return (
    <div role="radiogroup" aria-label={label} className="flex flex-wrap gap-2">
      {choices.map((choice) => (
        <label
          key={choice}
          className="relative flex min-h-11 shrink-0 items-center rounded-md px-3 text-small font-semibold ring-1 ring-ink/30 transition-colors ring-inset hover:bg-ink/10 has-checked:bg-ink has-checked:text-chalk has-checked:ring-ink sm:px-4"
        >
          <input
            type="radio"
            name={name}
            checked={choice === value}
            onChange={() => onChange(choice)}
            className="absolute inset-0 cursor-pointer appearance-none rounded-md"
          />
          {choice}
        </label>
      ))}
    </div>
  )
}
