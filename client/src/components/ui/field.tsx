import ChevronDown from 'lucide-react/icons/chevron-down'
import { useId, type ComponentProps, type ReactNode } from 'react'

import { cn } from '@/lib/cn'

const BOX =
  'w-full rounded-md bg-chalk px-4 text-body text-ink ring-1 ring-stone ring-inset placeholder:text-stone aria-invalid:ring-2 aria-invalid:ring-flare-text disabled:bg-(--disabled-surface) disabled:text-(--disabled-text)'

interface FieldProps {
  label: ReactNode
  /** A text below the field, which screen readers read with it. */
  error?: string | undefined
  hint?: string
  isOptional?: boolean
}

interface FrameProps extends FieldProps {
  id: string
  children: ReactNode
}

function Frame({ id, label, error, hint, isOptional, children }: FrameProps) {
  return (
    <div className="flex flex-col">
      <label htmlFor={id} className="mb-1.5 text-small font-semibold">
        {label}
        {isOptional && <span className="font-normal text-stone"> (optional)</span>}
      </label>
      {children}
      {hint && (
        <p id={`${id}-hint`} className="mt-1.5 text-label text-stone">
          {hint}
        </p>
      )}
      <FieldError id={id} error={error} />
    </div>
  )
}

function FieldError({ id, error }: { id: string; error: string | undefined }) {
  return (
    <p
      id={`${id}-error`}
      className={cn('text-small font-medium text-(--field-error)', error && 'mt-1.5')}
    >
      {error}
    </p>
  )
}

function describe(id: string, { error, hint }: FieldProps) {
  return {
    id,
    'aria-invalid': error !== undefined,
    'aria-describedby': cn(error && `${id}-error`, hint && `${id}-hint`) || undefined,
  }
}

type TextFieldProps = FieldProps & ComponentProps<'input'> & { children?: ReactNode }

/** Shows a text input with its label and error; `children` are inside it, at its end. */
export function TextField({ label, error, hint, isOptional, children, ...props }: TextFieldProps) {
  const id = useId()
  const field = { label, error, hint, isOptional }
  return (
    <Frame id={id} {...field}>
      <div className="relative">
        <input
          {...describe(id, field)}
          className={cn(BOX, 'h-12', children && 'pr-12')}
          {...props}
        />
        {children}
      </div>
    </Frame>
  )
}

/** Shows a text area with its label and error. */
export function TextareaField({
  label,
  error,
  hint,
  isOptional,
  ...props
}: FieldProps & ComponentProps<'textarea'>) {
  const id = useId()
  const field = { label, error, hint, isOptional }
  return (
    <Frame id={id} {...field}>
      <textarea {...describe(id, field)} className={cn(BOX, 'grow resize-y py-3')} {...props} />
    </Frame>
  )
}

/** Shows a select with its label and error. */
export function SelectField({
  label,
  error,
  hint,
  isOptional,
  ...props
}: FieldProps & ComponentProps<'select'>) {
  const id = useId()
  const field = { label, error, hint, isOptional }
  return (
    <Frame id={id} {...field}>
      <div className="relative">
        <select
          {...describe(id, field)}
          className={cn(BOX, 'h-12 appearance-none truncate pr-11')}
          {...props}
        />
        <ChevronDown
          aria-hidden
          className="pointer-events-none absolute top-3.5 right-3.5 size-5 text-stone"
        />
      </div>
    </Frame>
  )
}

/** Shows a checkbox with its text. */
export function CheckboxField({
  label,
  error,
  className,
  ...props
}: FieldProps & ComponentProps<'input'>) {
  const id = useId()
  return (
    <div className={className}>
      <label htmlFor={id} className="flex items-start gap-3 text-small">
        <input
          type="checkbox"
          {...describe(id, { label, error })}
          className="mt-0.5 size-5 shrink-0 accent-pitch"
          {...props}
        />
        <span>{label}</span>
      </label>
      <FieldError id={id} error={error} />
    </div>
  )
}
