let fields = new Map<string, HTMLInputElement>()
let focused: EventTarget | null = null

/** Keeps the fields of the first screen inside `root`, in which visitors may type before the page's scripts run. */
export function rememberServedFields(root: HTMLElement) {
  const inputs = root.querySelectorAll<HTMLInputElement>('input[name]')
  fields = new Map(Array.from(inputs, (field) => [field.name, field]))
  focused = document.activeElement
  for (const field of inputs) field.addEventListener('focus', () => (focused = field))
}

/**
 * Returns what was typed into the first screen's field called `name` until it was replaced, and whether it had the focus;
 * undefined if there was no such field, or if that was asked before.
 */
export function takeServedField(name: string) {
  const field = fields.get(name)
  fields.delete(name)
  return field && { value: field.value, hadFocus: field === focused }
}
