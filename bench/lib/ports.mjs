import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * The first and the last port to choose from. Systems give ports from 32768 on to outgoing connections: one of those may be
 * taken between its choice and its use.
 */
const RANGE = { first: 20_000, last: 32_767 }

/** Returns a port of this machine that nobody listens on. */
export async function freePort() {
  for (;;) {
    const port = randomInt(RANGE.first, RANGE.last + 1)
    if (await isFree(port)) return port
  }
}

/** @param {number} port */
function isFree(port) {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
