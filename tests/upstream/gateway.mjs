import { createServer, request as send } from 'node:http'

/**
 * Where a path leads: `target` is the URL of a service, or null where the service is not there.
 * @typedef {{ prefix: string, target: string | null, open?: boolean }} Route
 */

/**
 * Puts services under one URL, as the Kong of Supabase's containers does: its routes, its check of the key, its CORS and
 * its responses where nothing is. Source: https://github.com/supabase/supabase/blob/master/docker/volumes/api/kong.yml.
 */
export class Gateway {
  /**
   * @param {number} port
   * @param {string[]} keys the keys that are let through
   */
  constructor(port, keys) {
    this.url = `http://127.0.0.1:${port}`
    this.keys = new Set(keys)
    /** @type {Route[]} */
    this.routes = []
    /** What responds where no service does: a site of the same origin, if there is one. */
    this.site = unknownPath
    this.server = createServer((request, response) => this.#serve(request, response))
    // Uploads may take their time, and so may functions.
    this.server.requestTimeout = 0
  }

  async listen() {
    const { port } = new URL(this.url)
    await new Promise((resolve) =>
      this.server.listen(Number(port), '127.0.0.1', () => resolve(undefined)),
    )
  }

  stop() {
    this.server.close()
    this.server.closeAllConnections()
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  #serve(request, response) {
    const url = request.url ?? '/'
    const path = url.split('?')[0] ?? '/'
    const route = this.routes
      .filter(({ prefix }) => path === prefix.replace(/\/$/, '') || path.startsWith(prefix))
      .sort((one, other) => other.prefix.length - one.prefix.length)[0]
    const { origin } = request.headers
    if (!route && interfaces.test(path)) return unknownPath(request, response)
    if (!route) return this.site(request, response)
    if (origin !== undefined && isPreflight(request)) return preflight(request, response)
    if (!route.target) return refuse(response, 503, 'name resolution failed')
    const refusal = route.open ? null : this.#judge(request)
    if (refusal) return refuse(response, 401, refusal)
    forward(request, response, route.target, route.prefix, url)
  }

  /** @param {import('node:http').IncomingMessage} request */
  #judge(request) {
    const query = new URL(request.url ?? '/', this.url).searchParams.get('apikey')
    const key = request.headers.apikey ?? query
    if (key === null || key === undefined || key === '') return 'No API key found in request'
    return this.keys.has(String(key)) ? null : 'Invalid authentication credentials'
  }
}

/** Paths of interfaces, which no site has, whether their service is there or not. */
const interfaces = /^\/(rest|auth|storage|realtime|functions|graphql)\/v1(\/|$)/

/** @type {import('node:http').RequestListener} */
function unknownPath(_, response) {
  refuse(response, 404, 'no Route matched with those values')
}

/** @param {import('node:http').IncomingMessage} request */
function isPreflight({ method, headers }) {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {string} message
 */
function refuse(response, status, message) {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
  })
  response.end(JSON.stringify({ message }))
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
function preflight(request, response) {
  const requestedHeaders = request.headers['access-control-request-headers']
  response.writeHead(200, {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT',
    ...(requestedHeaders === undefined ? {} : { 'access-control-allow-headers': requestedHeaders }),
    'content-length': '0',
  })
  response.end()
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {string} target
 * @param {string} prefix
 * @param {string} url
 */
function forward(request, response, target, prefix, url) {
  const { protocol, hostname, port, pathname } = new URL(target)
  const rest = url.slice(prefix.length)
  const isWhole = rest === '' || rest.startsWith('?') || pathname.endsWith('/')
  const path = `${pathname}${isWhole ? rest : `/${rest}`}`
  const { host = '', apikey, authorization } = request.headers
  const onward = send({
    protocol,
    hostname,
    port,
    path,
    method: request.method,
    headers: {
      ...request.headers,
      ...(authorization === undefined && apikey !== undefined
        ? { authorization: String(apikey) }
        : {}),
      'x-forwarded-for': request.socket.remoteAddress ?? '',
      'x-forwarded-host': host.split(':')[0] ?? '',
      'x-forwarded-port': host.split(':')[1] ?? '80',
      'x-forwarded-proto': 'http',
      'x-forwarded-path': url.split('?')[0] ?? '',
      'x-forwarded-prefix': prefix.replace(/\/$/, ''),
    },
  })
  onward.on('response', (received) => {
    response.writeHead(received.statusCode ?? 502, received.statusMessage, {
      ...received.headers,
      'access-control-allow-origin': '*',
    })
    received.pipe(response)
    received.on('error', () => response.destroy())
  })
  onward.on('error', () => {
    if (response.headersSent) response.destroy()
    else refuse(response, 503, 'name resolution failed')
  })
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}
