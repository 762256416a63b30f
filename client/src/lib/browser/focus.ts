/** Stores the focused element and returns a function that focuses it again. */
export function rememberFocus() {
  const holder = document.activeElement
  return () => {
    if (holder instanceof HTMLElement) holder.focus()
  }
}
