import { loadingMessages } from '@/lib/notices/loading-messages'
import { notify } from '@/lib/notices/notify'

import { isServerReachable, reloadForNewVersion } from './reload'

/** A file of the site could not be loaded: there is no connection, or a new version was deployed. */
export class LoadError extends Error {
  /** Has the component that needs the part request it again when it is rendered next. */
  forget: () => void = () => undefined

  constructor(cause: unknown) {
    super('A part of the site could not be loaded', { cause })
    this.name = 'LoadError'
  }
}

/**
 * Loads a part of the site with `load`, an `import()`. That an earlier one could not be loaded is no news then. Rejects
 * with a `LoadError`.
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    const part = await load()
    for (const { title } of [loadingMessages.offline, loadingMessages.gone]) notify.withdraw(title)
    return part
  } catch (error) {
    throw new LoadError(error)
  }
}

interface Recovery {
  /** The page that was asked for, if it is another one. */
  address?: string
  /** Whether nobody has asked for the part, so that nobody has to be told. */
  isQuiet?: boolean
}

/**
 * Does what is to be done about a part that could not be loaded. Without a connection it says so. Otherwise the file is
 * gone, and the page is loaded again, once, with what was typed into its forms; if that has not helped, it says so.
 */
export async function recover(error: unknown, { address, isQuiet }: Recovery = {}) {
  console.error(error)
  const { offline, gone } = loadingMessages
  const isReachable = await isServerReachable()
  if (isReachable && reloadForNewVersion(address)) return
  if (isQuiet) return
  const { title, description } = isReachable ? gone : offline
  notify.error(title, description)
}
