import http from 'node:http'
import https from 'node:https'

/** Requests without a pause, half of them on connections that are kept. */
export class Load {
  #url
  #options
  #stopped = false
  #done = 0
  #failures: string[] = []
  #clients: Promise<void>[]

  /** Begins to ask for `url`. */
  constructor(url: string, options: https.RequestOptions = {}) {
    this.#url = url
    this.#options = options
    this.#clients = [0, 1, 2, 3].map((number) => this.#client(number % 2 === 0))
  }

  /** Ends it, and returns how many requests were answered with 200, and what became of the others. */
  async stop() {
    this.#stopped = true
    await Promise.all(this.#clients)
    return { done: this.#done, failures: this.#failures }
  }

  async #client(keepAlive: boolean) {
    const { Agent } = this.#url.startsWith('https:') ? https : http
    const agent = new Agent({ keepAlive, maxSockets: 1 })
    while (!this.#stopped) {
      const result = await this.#request(agent).catch(String)
      if (result === '200') this.#done += 1
      else this.#failures.push(`${result} (${keepAlive ? 'kept' : 'new'} connection)`)
    }
    agent.destroy()
  }

  #request(agent: http.Agent) {
    const { get } = this.#url.startsWith('https:') ? https : http
    return new Promise<string>((resolve, reject) => {
      const options = { ...this.#options, agent, timeout: 30_000 }
      const request = get(this.#url, options, (response) => {
        response.resume().once('end', () => {
          resolve(String(response.statusCode))
        })
      })
      request.once('error', reject)
    })
  }
}
