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

/** What a form needs once it is used. */
interface FormCode<Values extends FieldValues> {
  /** The rules of its fields. */
  rules: z.ZodMiniType<Values, Values>
}

interface Options<Values extends FieldValues, Code extends FormCode<Values>> {
  /** The form's name among all forms of the site, under which what was typed survives a reload. */
  name: string
  /** The values of an empty form. */
  empty: Values
  /** Loads the form's code, the rules and what sends the values, when it is first touched. */
  load: () => Promise<Code>
}

interface Handlers<Values extends FieldValues, Code extends FormCode<Values>> {
  onValid: (values: Values, code: Code) => Promise<void>
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
function useLateControl<Values extends FieldValues, Code extends FormCode<Values>>({
  empty,
  load,
}: Options<Values, Code>) {
  const formRef = useRef<HTMLFormElement>(null)
  const opening = useRef<ReturnType<typeof make>>(undefined)
  const [control, setControl] = useState<Control<Values>>()
  const [state, setState] = useState<{ errors: FieldErrors<Values>; values: Values }>({
    errors: {},
    values: empty,
  })

  const make = async () => {
    const [library, code] = await loadPart(() => Promise.all([import('./form-control'), load()]))
    const loaded = library.createFormControl<Values, unknown, Values>({
      defaultValues: empty as DefaultValues<Values>,
      resolver: library.zodResolver(code.rules),
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
    return { control: loaded, code }
  }

  /** Loads the code behind the fields, once; again if that failed. */
  const open = () => {
    opening.current ??= make().catch((error: unknown) => {
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
 * Returns a form whose fields are on the page from the start. Its scripts, react-hook-form and the form's own
 * code, load when it is first touched, and take over the same fields with what was typed by then.
 */
export function useLateForm<Values extends FieldValues, Code extends FormCode<Values>>(
  options: Options<Values, Code>,
) {
  const { formRef, control, state, open, note, setValue } = useLateControl(options)
  useDraft<Values>(options.name, setValue)
  const isBusy = useRef(false)
  const [isSubmitting, setIsSubmitting] = useState(false)

  const submit = async ({ onValid, onInvalid }: Handlers<Values, Code>) => {
    if (isBusy.current) return
    isBusy.current = true
    try {
      const { control: opened, code } = await open()
      const send = (values: Values) => {
        setIsSubmitting(true)
        return onValid(values, code)
      }
      await opened.handleSubmit(send, onInvalid)()
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
    reset: async () => (await open()).control.reset(),
    /** Properties of the `<form>`. */
    formProps: (handlers: Handlers<Values, Code>) => ({
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
