import * as z from 'zod/mini'

/** Returns a text field whose rule returns why a value is refused, or undefined. */
export function checked(rule: (value: string) => string | undefined) {
  return z.string().check((context) => {
    const message = rule(context.value)
    if (message) context.issues.push({ code: 'custom', message, input: context.value })
  })
}
