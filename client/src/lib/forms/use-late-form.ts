import { useRef, useState, type SubmitEvent } from 'react'
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

type Control<Values extends FieldValues> = ReturnType<
  typeof createFormControl<Values, unknown, Values>
>

interface Options<Values extends FieldValues> {
  /** The values of an empty form. */
  empty: Values
  /** Loads the rules of the fields, when the form is first touched. */
  rules: () => Promise<z.ZodMiniType<Values, Values>>
}

interface Handlers<Values extends FieldValues> {
  onValid: (values: Values) => Promise<void>
  onInvalid: (errors: FieldErrors<Values>) => void
  /** Called if the form's code cannot be loaded. */
  onUnavailable: (error: unknown) => void
}

function valueOf(field: Element) {
  if (field instanceof HTMLInputElement && field.type === 'checkbox') return field.checked
  return 'value' in field ? field.value : undefined
}

/** Copies what was typed into the form's fields so far to its control. */
function takeOver<Values extends FieldValues>(
  control: Control<Values>,
  form: HTMLFormElement | null,
  names: Path<Values>[],
) {
  for (const name of names) {
    const field = form?.elements.namedItem(name)
    if (field instanceof Element)
      control.setValue(name, valueOf(field) as PathValue<Values, Path<Values>>)
  }
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
    const [library, schema] = await Promise.all([import('./form-control'), rules()])
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
      takeOver(loaded, formRef.current, Object.keys(empty) as Path<Values>[])
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

  return { formRef, control, state, open }
}

/**
 * Returns a form whose fields are on the page from the start. Its scripts, react-hook-form and the rules, load when it is
 * first touched, and take over the same fields with what was typed by then.
 */
export function useLateForm<Values extends FieldValues>(options: Options<Values>) {
  const { formRef, control, state, open } = useLateControl(options)
  const isBusy = useRef(false)
  const [isSubmitting, setIsSubmitting] = useState(false)

  const submit = async ({ onValid, onInvalid, onUnavailable }: Handlers<Values>) => {
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
      onUnavailable(error)
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
    setValue: async <Name extends Path<Values>>(name: Name, value: PathValue<Values, Name>) =>
      (await open()).setValue(name, value),
    reset: async () => (await open()).reset(),
    /** Properties of the `<form>`. */
    formProps: (handlers: Handlers<Values>) => ({
      ref: formRef,
      noValidate: true,
      // If the code cannot be loaded now, it is requested again when the form is submitted.
      onFocus: () => void open().catch(() => undefined),
      onSubmit: (event: SubmitEvent) => {
        event.preventDefault()
        void submit(handlers)
      },
    }),
  }
}
