import { createElement, lazy, startTransition, type ComponentType, type ReactNode } from 'react'

import { LoadError, loadPart, recover } from './load-part'

type Load<Props> = () => Promise<{ default: ComponentType<Props> }>

/** A component in a file of its own. */
interface Split<Props> {
  (props: Props): ReactNode
  /** Loads the file, so that the component shows at once when it is rendered for the first time. */
  load: () => Promise<void>
  /** Reports whether the file is loaded. */
  isLoaded: () => boolean
  /** Loads the file and then calls `show`, which renders the component. For components that open on a click. */
  open: (show: () => void) => void
}

/** Returns the component that `load` imports, in a chunk that is loaded when it is first shown. */
export function split<Props extends object = object>(load: Load<Props>): Split<Props> {
  let loaded: ComponentType<Props> | undefined
  const fetch = async () => {
    const part = await loadPart(load)
    loaded = part.default
    return part
  }
  // React keeps the failure of a lazy component for ever. A new one is made once the failure has been shown; at once
  // would have React request the file again and again.
  const attempt = () =>
    lazy(async () => {
      try {
        return await fetch()
      } catch (error) {
        if (error instanceof LoadError) error.forget = () => void (Lazy = attempt())
        throw error
      }
    }) as unknown as ComponentType<Props>
  let Lazy = attempt()

  const Component = (props: Props) => createElement(loaded ?? Lazy, props)
  Component.load = async () => {
    await fetch()
  }
  Component.isLoaded = () => loaded !== undefined
  Component.open = (show: () => void) => {
    Component.load().then(
      // The browser first shows that the button was pressed.
      () => startTransition(show),
      (error: unknown) => recover(error),
    )
  }
  return Component
}
