let isServed = false

/** Stores whether the server has sent a first screen inside `root`, before that is replaced. */
export function rememberServedScreen(root: HTMLElement) {
  isServed = root.childElementCount > 0
}

/** Returns whether the server has sent a first screen. It sends none while the site is behind its password. */
export function wasScreenServed() {
  return isServed
}
