import { useEffect, useRef, useState, type SubmitEvent } from 'react'
import { flushSync } from 'react-dom'
import type {
  createFormControl,
  DefaultValues,
  FieldErrors,
  FieldValues,
  Path,
  PathValue,
  UseFormRegisterReturn,
} from 'react-hook-form'
import type * as z from 'zod/mini'

import { LoadError, loadPart, recover } from '@/lib/loading/load-part'

import { draftOf, forgetDraft, type Draft } from './drafts'

type Control<Values extends FieldValues> = ReturnType<
  typeof createFormControl<Values, unknown, Values>
>

interface Options<Values extends FieldValues> {
  /** The form's name among all forms of the site, under which what was typed survives a reload. */
  name: string
  /** The values of an empty form. */
  empty: Values
  /** Loads the rules of the fields, when the form is first touched. */
  rules: () => Promise<z.ZodMiniType<Values, Values>>
}

interface Handlers<Values extends FieldValues> {
  onValid: (values: Values) => Promise<void>
  onInvalid: (errors: FieldErrors<Values>) => void
}

function valueOf(field: Element) {
  if (field instanceof HTMLInputElement && field.type === 'checkbox') return field.checked
  return 'value' in field ? field.value : undefined
}

/** Returns what the form's fields have in them; of fields that are not there, what `empty` has. */
function valuesOf<Values extends FieldValues>(form: HTMLFormElement | null, empty: Values): Values {
  const values = Object.keys(empty).map((name) => {
    const field = form?.elements.namedItem(name)
    return [name, field instanceof Element ? valueOf(field) : empty[name]] as const
  })
  return Object.fromEntries(values) as Values
}

/** Writes a value into a field; returns false if the field does not take it, as a select without that option. */
function fill(form: HTMLFormElement | null, name: string, value: unknown) {
  const field = form?.elements.namedItem(name)
  if (!(field instanceof Element)) return false
  if (field instanceof HTMLInputElement && field.type === 'checkbox') field.checked = value === true
  else if ('value' in field) field.value = value
  return valueOf(field) === value
}

/** Keeps the control of a form, which is made when `open` is first called. */
function useLateControl<Values extends FieldValues>({ empty, rules }: Options<Values>) {
  const formRef = useRef<HTMLFormElement>(null)
  const opening = useRef<Promise<Control<Values>>>(undefined)
  const [control, setControl] = useState<Control<Values>>()
  const [state, setState] = useState<{ errors: FieldErrors<Values>; values: Values }>({
    errors: {},
    values: empty,
  })

  const load = async () => {
    const [library, schema] = await loadPart(() => Promise.all([import('./form-control'), rules()]))
    const loaded = library.createFormControl<Values, unknown, Values>({
      defaultValues: empty as DefaultValues<Values>,
      resolver: library.zodResolver(schema),
    })
    loaded.subscribe({
      formState: { errors: true, values: true },
      callback: ({ errors = {}, values }) => setState({ errors, values }),
    })
    // Synchronous, so that nothing can be typed between the copy and the control taking over the fields.
    flushSync(() => {
      for (const [name, value] of Object.entries(valuesOf(formRef.current, empty)))
        loaded.setValue(name as Path<Values>, value as PathValue<Values, Path<Values>>)
      setControl(loaded)
    })
    return loaded
  }

  /** Loads the code behind the fields, once; again if that failed. */
  const open = () => {
    opening.current ??= load().catch((error: unknown) => {
      opening.current = undefined
      throw error
    })
    return opening.current
  }

  /** Notes what is typed before the control is there. */
  const note = () => {
    if (!control) setState((now) => ({ ...now, values: valuesOf(formRef.current, empty) }))
  }

  const setValue = <Name extends Path<Values>>(name: Name, value: PathValue<Values, Name>) => {
    if (!fill(formRef.current, name, value)) return false
    if (control) control.setValue(name, value)
    else note()
    return true
  }

  return { formRef, control, state, open, note, setValue }
}

/** Fills the form with what was typed into it before the page was reloaded, each field as soon as it takes its value. */
function useDraft<Values extends FieldValues>(
  name: string,
  setValue: (field: Path<Values>, value: PathValue<Values, Path<Values>>) => boolean,
) {
  const [missing] = useState(() => new Map(Object.entries<Draft[string]>(draftOf(name) ?? {})))

  useEffect(() => {
    for (const [field, value] of missing) {
      const isTaken = setValue(field as Path<Values>, value as PathValue<Values, Path<Values>>)
      if (isTaken) missing.delete(field)
    }
    if (missing.size === 0) forgetDraft(name)
  })
}

/**
 * Returns a form whose fields are on the page from the start. Its scripts, react-hook-form and the rules, load when it is
 * first touched, and take over the same fields with what was typed by then.
 */
export function useLateForm<Values extends FieldValues>(options: Options<Values>) {
  const { formRef, control, state, open, note, setValue } = useLateControl(options)
  useDraft<Values>(options.name, setValue)
  const isBusy = useRef(false)
  const [isSubmitting, setIsSubmitting] = useState(false)

  const submit = async ({ onValid, onInvalid }: Handlers<Values>) => {
    if (isBusy.current) return
    isBusy.current = true
    try {
      const { handleSubmit } = await open()
      const send = (values: Values) => {
        setIsSubmitting(true)
        return onValid(values)
      }
      await handleSubmit(send, onInvalid)()
    } catch (error) {
      if (!(error instanceof LoadError)) throw error
      await recover(error)
    } finally {
      isBusy.current = false
      setIsSubmitting(false)
    }
  }

  return {
    ...state,
    isSubmitting,
    register: (name: Path<Values>): Partial<UseFormRegisterReturn> =>
      control ? control.register(name) : { name },
    setValue,
    reset: async () => (await open()).reset(),
    /** Properties of the `<form>`. */
    formProps: (handlers: Handlers<Values>) => ({
      ref: formRef,
      noValidate: true,
      'data-draft': options.name,
      onChange: note,
      // If the code cannot be loaded now, it is requested again when the form is submitted.
      onFocus: () => void open().catch(() => undefined),
      onSubmit: (event: SubmitEvent) => {
        event.preventDefault()
        void submit(handlers)
      },
    }),
  }
}
