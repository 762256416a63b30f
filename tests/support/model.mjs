import { createServer } from 'node:http'

/** The behaviour of the mock for the next questions. */
const refusals = {
  quota: [
    429,
    { error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } },
  ],
  busy: [429, { error: { code: 'rate_limit_exceeded', message: 'Rate limit reached' } }],
  key: [401, { error: { code: 'invalid_api_key', message: 'Incorrect API key provided: KEY' } }],
  down: [500, { error: { message: 'The server had an error' } }],
}

/**
 * A mock of a chat-completions endpoint, on a free port. POST /mode sets how it responds, GET /last-request returns the
 * last request.
 */
export class Model {
  /** @returns {Promise<Model>} */
  static async start() {
    const model = new Model()
    await new Promise((resolve) => model.server.listen(0, '127.0.0.1', () => resolve(undefined)))
    return model
  }

  constructor() {
    this.mode = 'answer'
    this.lastRequest = ''
    this.server = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8')
      request.on('data', (/** @type {string} */ part) => (body += part))
      request.on('end', () => this.#respond(request, body, response))
    })
  }

  get url() {
    const address = this.server.address()
    return `http://127.0.0.1:${typeof address === 'object' ? String(address?.port) : ''}`
  }

  stop() {
    this.server.closeAllConnections()
    this.server.close()
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {string} body
   * @param {import('node:http').ServerResponse} response
   */
  #respond({ url: path, headers }, body, response) {
    if (path === '/mode') {
      this.mode = body
      response.end()
      return
    }
    if (path === '/last-request') {
      response.end(this.lastRequest)
      return
    }
    const key = headers.authorization?.replace('Bearer ', '') ?? ''
    const refusal = Object.entries(refusals).find(([mode]) => mode === this.mode)?.[1]
    if (refusal !== undefined) {
      response.writeHead(Number(refusal[0]), { 'content-type': 'application/json' })
      response.end(JSON.stringify(refusal[1]).replace('KEY', key))
      return
    }
    this.lastRequest = body
    if (this.mode === 'silent') return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (this.mode === 'half') {
      const error = { code: 'insufficient_quota', message: `You exceeded the quota of ${key}` }
      response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: 'You ' } }] })}\n\n`)
      response.end(`data: ${JSON.stringify({ error })}\n\n`)
      return
    }
    for (const content of ['You pay ', '**nothing**', '.']) {
      response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  }
}
