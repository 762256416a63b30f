import { Agent, request } from 'node:http'

import { percentile } from './statistics.mjs'

/** How long a client waits for a response, in milliseconds. */
const patience = 20_000

/**
 * A kind of request; `make` returns the parts of the next one.
 * @typedef {{ name: string, weight: number,
 *   make: () => { method?: string, path: string, headers: Record<string, string>, body?: string | Buffer } }} Kind
 */

/** What has become of the requests of one kind. */
class Outcome {
  /** @type {Map<string, number>} */
  statuses = new Map()
  /** Of those that succeeded, in milliseconds. @type {number[]} */
  latencies = []
  /** How many refusals did not say when to come again. */
  silent = 0

  get served() {
    return this.latencies.length
  }

  get refused() {
    return [...this.statuses].reduce((sum, [, count]) => sum + count, 0) - this.served
  }

  /** @param {number} part */
  percentile(part) {
    return percentile(this.latencies, part)
  }
}

/** Sends requests to a server and notes what becomes of them. */
export class Client {
  /** @param {string} url */
  constructor(url) {
    this.url = url
    this.agent = new Agent({ keepAlive: true, maxSockets: 4000, maxFreeSockets: 1000 })
    this.forget()
  }

  /** Begins to count anew. */
  forget() {
    /** @type {Map<string, Outcome>} */
    this.outcomes = new Map()
  }

  /**
   * Sends a request of `kind` and waits for all of its response. Returns its status, or the reason why there is none.
   * @param {Kind} kind
   */
  async send(kind) {
    const outcome = this.outcomes.get(kind.name) ?? new Outcome()
    this.outcomes.set(kind.name, outcome)
    const begin = performance.now()
    const { status, retryAfter } = await this.#exchange(kind.make())
    if (/^2/.test(status)) outcome.latencies.push(performance.now() - begin)
    else if (/^(503|429)$/.test(status) && retryAfter === undefined) outcome.silent += 1
    outcome.statuses.set(status, (outcome.statuses.get(status) ?? 0) + 1)
    return status
  }

  /**
   * Sends so many requests at a time, each as soon as another one has its response, and returns how many succeeded a
   * second.
   * @param {Kind[]} kinds
   * @param {{ connections: number, seconds: number }} how
   */
  async closed(kinds, { connections, seconds }) {
    this.forget()
    const next = mixed(kinds)
    const end = performance.now() + seconds * 1000
    const work = async () => {
      while (performance.now() < end) await this.send(next())
    }
    await Promise.all(Array.from({ length: connections }, work))
    const served = [...this.outcomes.values()].reduce((sum, outcome) => sum + outcome.served, 0)
    return served / seconds
  }

  /**
   * Sends `rate` requests a second, whether or not others have their responses, as clients do that know nothing of each
   * other; returns when all have ended.
   * @param {Kind[]} kinds
   * @param {{ rate: number, seconds: number }} how
   */
  async open(kinds, { rate, seconds }) {
    this.forget()
    const next = mixed(kinds)
    const begin = performance.now()
    /** @type {Promise<unknown>[]} */
    const running = []
    while (performance.now() - begin < seconds * 1000) {
      const due = Math.floor(((performance.now() - begin) / 1000) * rate)
      while (running.length < due) running.push(this.send(next()))
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await Promise.all(running)
    return running.length
  }

  /**
   * @param {ReturnType<Kind['make']>} parts
   * @returns {Promise<{ status: string, retryAfter?: string }>}
   */
  #exchange({ method = 'GET', path, headers, body }) {
    return new Promise((resolve) => {
      const failed = (/** @type {Error & { code?: string }} */ error) =>
        resolve({ status: error.code ?? error.message })
      const sent = request(`${this.url}${path}`, { method, headers, agent: this.agent })
      sent.setTimeout(patience, () => sent.destroy(new Error('timeout')))
      sent.on('error', failed)
      sent.on('response', (response) => {
        response.on('error', failed)
        response.on('end', () =>
          resolve({
            status: String(response.statusCode),
            retryAfter: response.headers['retry-after'],
          }),
        )
        response.resume()
      })
      sent.end(body)
    })
  }
}

/**
 * Returns a function that returns kinds in proportion to their weights, evenly mixed.
 * @param {Kind[]} kinds
 */
function mixed(kinds) {
  const credits = kinds.map(() => 0)
  const total = kinds.reduce((sum, { weight }) => sum + weight, 0)
  return () => {
    for (const [index, { weight }] of kinds.entries()) credits[index] += weight
    const chosen = credits.indexOf(Math.max(...credits))
    credits[chosen] -= total
    return kinds[chosen]
  }
}
