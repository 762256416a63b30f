import { ToggleGroup } from 'radix-ui'

interface ChoiceGroupProps<T extends string> {
  label: string
  choices: readonly T[]
  value: T
  onChange: (value: T) => void
}

/** Buttons of which exactly one is pressed; arrow keys move between them. */
export function ChoiceGroup<T extends string>({
  label,
  choices,
  value,
  onChange,
}: ChoiceGroupProps<T>) {
  return (
    <ToggleGroup.Root
      type="single"
      aria-label={label}
      value={value}
      // Radix passes '' when the pressed button is pressed again; one choice always stays.
      onValueChange={(next) => next && onChange(next as T)}
      className="flex flex-wrap gap-2"
    >
      {choices.map((choice) => (
        <ToggleGroup.Item
          key={choice}
          value={choice}
          className="min-h-11 rounded-md px-4 text-small font-semibold ring-1 ring-ink/30 transition-colors ring-inset hover:bg-ink/10 data-[state=on]:bg-ink data-[state=on]:text-chalk data-[state=on]:ring-ink"
        >
          {choice}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}
