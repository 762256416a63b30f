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
      className="flex gap-2 max-md:-mx-(--page-edge) max-md:overflow-x-auto max-md:px-(--page-edge) max-md:py-1.5 md:flex-wrap"
    >
      {choices.map((choice) => (
        <ToggleGroup.Item
          key={choice}
          value={choice}
          className="min-h-11 shrink-0 rounded-md px-3 text-small font-semibold ring-1 ring-ink/30 transition-colors ring-inset hover:bg-ink/10 data-[state=on]:bg-ink data-[state=on]:text-chalk data-[state=on]:ring-ink sm:px-4"
        >
          {choice}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}
