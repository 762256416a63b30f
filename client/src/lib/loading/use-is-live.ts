import { useSyncExternalStore } from 'react'

const subscribe = () => () => undefined

/** Returns whether the page answers to the visitor. It does not yet in the first screens that a server sends. */
export function useIsLive() {
  return useSyncExternalStore(
    subscribe,
    () => true,
    () => false,
  )
}
