/** Remembers what has the keyboard's place; what is returned gives it back. */
export function rememberFocus() {
  const holder = document.activeElement
  return () => {
    if (holder instanceof HTMLElement) holder.focus()
  }
}
