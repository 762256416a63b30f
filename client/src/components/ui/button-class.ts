import { cva, type VariantProps } from 'class-variance-authority'

/** Returns the classes that give an element, such as a link, the look of a button. */
export const buttonClass = cva(
  'button inline-flex items-center justify-center gap-2.5 rounded-md font-semibold transition-[background-color,color,translate] duration-200 ease-out select-none active:translate-y-px disabled:bg-(--disabled-surface) disabled:text-(--disabled-text) disabled:ring-0',
  {
    variants: {
      variant: {
        floodlight: 'bg-floodlight text-ink hover:bg-chalk',
        pitch: 'bg-pitch text-chalk hover:bg-pitch-deep',
        ink: 'bg-ink text-chalk hover:bg-ink-raised',
        ghost: 'text-ink hover:bg-ink/10',
        outline: 'text-ink ring-1 ring-ink ring-inset hover:bg-ink hover:text-chalk',
      },
      size: {
        small: 'min-h-11 px-4 text-small',
        default: 'min-h-12 px-6 text-body',
        large: 'min-h-14 px-7 text-body',
      },
    },
    defaultVariants: { variant: 'pitch', size: 'default' },
  },
)

export type ButtonLook = VariantProps<typeof buttonClass>
