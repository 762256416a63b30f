/** The programs that this process has started, so that none is left behind whatever fails. */
import { once } from 'node:events'

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** How each is stopped, in the order in which they were started. @type {Map<ChildProcess, () => Promise<unknown>>} */
const started = new Map()

/**
 * Keeps a program in mind until `forget`.
 * @param {ChildProcess} child
 * @param {() => Promise<unknown>} stop ends it, and removes what it leaves on the disk
 */
export function track(child, stop) {
  started.set(child, stop)
}

/** Forgets a program that has ended and left nothing. */
export function forget(/** @type {ChildProcess} */ child) {
  started.delete(child)
}

/** Returns whether a program has been started and has not ended. */
export function isRunning(/** @type {ChildProcess} */ child) {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}

/**
 * Ends a program, and kills it where that takes too long.
 * @param {ChildProcess} child
 * @param {NodeJS.Signals} signal
 * @param {number} limit in milliseconds
 */
export async function end(child, signal, limit) {
  if (!isRunning(child)) return
  const ended = once(child, 'exit')
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), limit)
  await ended
  clearTimeout(timer)
}

/** Stops all programs. The newest comes first, since it may need an older one. */
export async function stopAll() {
  /** @type {unknown[]} */
  const failures = []
  for (const stop of [...started.values()].reverse()) {
    await stop().catch((error) => failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, 'not all programs could be stopped')
}

// Where the process ends without waiting, after an error that nobody has caught, the programs are told at least.
process.on('exit', () => {
  for (const child of started.keys()) child.kill('SIGINT')
})
