/**
 * What was written, and when. The clock is that of this machine, which Postgres has, too.
 *
 * Something that can be written has a key, such as `row 17`, and after each write a state: a text, which is empty where
 * it is not there. The writes of one key follow each other.
 */

/**
 * A write.
 * @typedef {object} Write
 * @property {string} state the one that it leaves
 * @property {number} begun when it was requested, in milliseconds since 1970
 * @property {number} ended when it was acknowledged; infinite where it was not
 */

/**
 * How a restored project differs from what it has to be.
 * @typedef {object} Difference
 * @property {string[]} lost what was acknowledged before the moment, and is not there
 * @property {string[]} foreign what is there, and was written later or never
 */

/** The state of an object whose bytes are missing. */
export const NO_BYTES = 'no bytes'

export class Journal {
  /** @type {Map<string, Write[]>} */
  #writes = new Map()
  /** How many writes have been acknowledged. */
  acknowledged = 0
  /** How many have not. */
  failed = 0

  /**
   * Notes a write while it is done.
   * @param {string} key
   * @param {string} state
   * @param {() => Promise<boolean>} write whether it was acknowledged
   */
  async note(key, state, write) {
    const entry = { state, begun: Date.now(), ended: Infinity }
    const writes = this.#writes.get(key) ?? []
    this.#writes.set(key, [...writes, entry])
    if (await write()) {
      entry.ended = Date.now()
      this.acknowledged += 1
      return true
    }
    this.failed += 1
    return false
  }

  /**
   * Compares what was found with what was there at a moment. What was under way then may be there or not.
   * @param {Map<string, string>} found the states by their keys
   * @param {number} moment
   * @param {number} [latest] until when more may be there
   * @returns {Difference}
   */
  compare(found, moment, latest = moment) {
    /** @type {Difference} */
    const difference = { lost: [], foreign: [] }
    for (const [key, writes] of this.#writes) {
      const last = writes.findLastIndex(({ ended }) => ended < moment)
      const possible = writes.slice(last + 1).filter(({ begun }) => begun <= latest)
      const states = [writes[last]?.state ?? '', ...possible.map(({ state }) => state)]
      const state = found.get(key) ?? ''
      if (states.includes(state)) continue
      // The bytes of what was written last need not be there at the end.
      if (state === NO_BYTES && latest > moment && possible.length > 0) continue
      const isLater = writes.slice(last + 1).some((write) => write.state === state)
      difference[isLater ? 'foreign' : 'lost'].push(`${key}: ${state || 'missing'}`)
    }
    for (const key of found.keys()) if (!this.#writes.has(key)) difference.foreign.push(key)
    return difference
  }

  /**
   * Returns for how long, before the end, acknowledged writes have been lost, in milliseconds.
   * @param {Map<string, string>} found
   * @param {number} end
   */
  loss(found, end) {
    let longest = 0
    for (const [key, writes] of this.#writes) {
      const state = found.get(key) ?? ''
      // Of an object without bytes, the last one is missing.
      const present =
        state === NO_BYTES
          ? writes.length - 2
          : writes.findLastIndex((write) => write.state === state)
      const missing = writes.slice(present + 1).find(({ ended }) => ended < end)
      if (missing) longest = Math.max(longest, end - missing.ended)
    }
    return longest
  }
}
