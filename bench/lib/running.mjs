/** All groups of servers that run, for when the benchmark is interrupted. */
const groups = new Set()

/** Servers that were started together and are stopped together: at the end, or when the benchmark is interrupted. */
export class Running {
  #servers = []
  /** @type {Promise<void> | undefined} */
  #stopped

  constructor() {
    groups.add(this)
  }

  /**
   * Adds a server.
   * @template {{ stop(): Promise<void> }} T
   * @param {T} server
   * @returns {T}
   */
  add(server) {
    this.#servers.push(server)
    return server
  }

  /** Stops all of them, in reverse order. A second call waits for the same stop. */
  stop() {
    this.#stopped ??= this.#stopAll()
    return this.#stopped
  }

  async #stopAll() {
    for (const server of this.#servers.toReversed()) await server.stop()
    groups.delete(this)
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await Promise.allSettled([...groups].map((group) => group.stop()))
    process.exit(1)
  })
}
