import { createElement, lazy, startTransition, type ComponentType, type ReactNode } from 'react'

type Load<Props> = () => Promise<{ default: ComponentType<Props> }>

/** A component in a file of its own. */
interface Split<Props> {
  (props: Props): ReactNode
  /** Loads the file, so that the component shows at once when it is rendered for the first time. */
  load: () => Promise<void>
  /** Loads the file and then calls `show`, which renders the component. For components that open on a click. */
  open: (show: () => void) => void
}

/** Returns the component that `load` imports, in a chunk that is loaded when it is first shown. */
export function split<Props extends object = object>(load: Load<Props>): Split<Props> {
  const Lazy = lazy(load) as unknown as ComponentType<Props>
  let loaded: ComponentType<Props> | undefined
  const Component = (props: Props) => createElement(loaded ?? Lazy, props)
  Component.load = async () => {
    loaded = (await load()).default
  }
  Component.open = (show: () => void) => {
    Component.load().then(
      // The browser first shows that the button was pressed.
      () => startTransition(show),
      (error: unknown) => console.error('A part of the page could not be loaded:', error),
    )
  }
  return Component
}
