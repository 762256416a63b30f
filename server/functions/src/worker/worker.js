// Runs one edge function: serves it on a unix socket, and adds the few globals that Supabase's runtime adds to Deno.
// Its reports to the server go to standard output, one line of JSON after the mark \u0001.

import { AsyncLocalStorage } from 'node:async_hooks'
import { format } from 'node:util'

const { name, entrypoint, calls, orders, folder, hidden } = JSON.parse(Deno.args[0])

const LONGEST_LOG = 16_384
const HANDLER_WAIT = 5_000
/** After an error that nothing caught, the process ends after so many rounds of so many milliseconds. */
const LAST_ROUNDS = 5
const LAST_ROUND = 40

/** What the server knows this process by. */
const id = folder.slice(folder.lastIndexOf('/') + 1)
const { exit, serve } = Deno
const setTimer = globalThis.setTimeout
const encoder = new TextEncoder()
/** The id of the request that is being handled. */
const current = new AsyncLocalStorage()
const background = new Set()
const address = { transport: 'tcp', hostname: '0.0.0.0', port: 9999 }

function report(event) {
  const bytes = encoder.encode(`\u0001${JSON.stringify(event)}\n`)
  for (let sent = 0; sent < bytes.length; ) sent += Deno.stdout.writeSync(bytes.subarray(sent))
}

for (const level of ['log', 'info', 'debug', 'trace', 'warn', 'error']) {
  console[level] = (...values) =>
    report({ level, request: current.getStore(), text: format(...values).slice(0, LONGEST_LOG) })
}

// Over a unix socket the scheme is http+unix, which functions do not expect.
const url = Object.getOwnPropertyDescriptor(Request.prototype, 'url')
Object.defineProperty(Request.prototype, 'url', {
  ...url,
  get() {
    const text = url.get.call(this)
    return text.startsWith('http+unix:') ? `http:${text.slice(10)}` : text
  },
})

// Deno has one storage for all scripts with the same configuration, or with this script, so that functions would see
// each other's data. The hosted platform has no Web Storage at all, and separate caches for each function.
for (const storage of ['localStorage', 'sessionStorage']) delete globalThis[storage]
for (const method of ['open', 'has', 'delete']) {
  const original = CacheStorage.prototype[method]
  CacheStorage.prototype[method] = function (cache) {
    return original.call(this, `${name}/${cache}`)
  }
}

let handler
let onError
const { promise: captured, resolve: capture } = Promise.withResolvers()

function take(given, givenOnError) {
  if (typeof given !== 'function') throw new TypeError('Deno.serve needs a handler function')
  if (handler !== undefined) return
  handler = given
  onError = givenOnError
  capture()
}

Deno.serve = (first, second) => {
  const isHandlerFirst = typeof first === 'function'
  const options = (isHandlerFirst ? second : first) ?? {}
  take(isHandlerFirst ? first : (second ?? options.handler), options.onError)
  queueMicrotask(() => options.onListen?.(address))
  const forever = new Promise(() => {})
  const nothing = () => {}
  const done = () => Promise.resolve()
  return { addr: address, finished: forever, ref: nothing, unref: nothing, shutdown: done, [Symbol.asyncDispose]: done }
}

// For the old `serve` of Deno's standard library, which listens, accepts, and reads requests from each connection.
const events = []
let wake = () => {}

Deno.listen = () => {
  take((request) => {
    const { promise, resolve, reject } = Promise.withResolvers()
    const respondWith = (response) => Promise.resolve(response).then(resolve, reject)
    events.push({ request, respondWith })
    wake()
    return promise
  })
  const connection = { localAddr: address, remoteAddr: address, rid: -1, close() {} }
  let isAccepted = false
  const accept = () => {
    if (isAccepted) return new Promise(() => {})
    isAccepted = true
    return Promise.resolve(connection)
  }
  return { addr: address, rid: -1, accept, close() {} }
}

Deno.serveHttp = () => ({
  rid: -1,
  close() {},
  async nextRequest() {
    while (events.length === 0) await new Promise((resolve) => (wake = resolve))
    return events.shift()
  },
})

globalThis.EdgeRuntime = {
  waitUntil(promise) {
    const settled = Promise.resolve(promise)
      .catch((error) => console.error(error))
      .finally(() => background.delete(settled))
    background.add(settled)
    return promise
  },
}

// The hosted runtime has built-in models; Deno has none.
globalThis.Supabase = {
  ai: {
    Session: class {
      constructor(model) {
        throw new Error(`Supabase.ai.Session('${model}') needs the hosted platform's models; call a model's own API instead`)
      }
    },
  },
}

async function obey(request) {
  if (request.url.endsWith('/drain')) {
    globalThis.dispatchEvent(new Event('beforeunload'))
    while (background.size > 0) await Promise.allSettled(background)
  }
  return new Response(null, { status: 204 })
}

function fail(error) {
  if (onError !== undefined) return onError(error)
  console.error(error)
  return new Response('Internal Server Error', { status: 500 })
}

/** The second argument of a handler. Its values are made when they are read, because most handlers read none. */
class Info {
  #headers

  constructor(headers) {
    this.#headers = headers
  }

  get remoteAddr() {
    return { ...address, hostname: this.#headers.get('x-forwarded-for') ?? address.hostname }
  }

  get completed() {
    return Promise.resolve()
  }
}

let isFailing = false
const never = new Promise(() => {})

/** Logs an error that nothing caught, and ends the process. Calls that have begun get no response any more. */
async function crash(origin, error) {
  console.error(`error: Uncaught ${origin}${Deno.inspect(error)}`)
  if (isFailing) return
  isFailing = true
  // Several rounds, so that even after a long pause of the event loop the calls that have arrived get a response.
  for (let round = 0; round < LAST_ROUNDS; round++) await new Promise((resolve) => setTimer(resolve, LAST_ROUND))
  exit(1)
}

/** Ends the process after events of this type, as Deno does, but not at once; unless the function prevents that. */
function watchErrors(type, ofNode, origin, errorOf) {
  globalThis.addEventListener(type, (event) => {
    if (event.defaultPrevented || globalThis.process?.listenerCount?.(ofNode) > 0) return
    let isHandled = false
    event.preventDefault()
    event.preventDefault = () => (isHandled = true)
    // By then the function's own listeners have run, also those that were added later.
    queueMicrotask(() => isHandled || crash(origin, errorOf(event)))
  })
}

const pass = (response) => (isFailing ? never : response)
const passFailure = (error) => (isFailing ? never : fail(error))

function respond(request, headers) {
  // The server sends the call to another process.
  if (isFailing) return new Response(null, { status: 503, headers: { 'x-basalt-not-begun': id } })
  try {
    const response = handler(request, new Info(headers))
    return response instanceof Promise ? response.then(pass, passFailure) : response
  } catch (error) {
    return fail(error)
  }
}

function handle(request) {
  const { headers } = request
  // Read now: after the response the headers are not available any more, but background work may still log.
  return current.run(headers.get('x-request-id'), respond, request, headers)
}

/** Reads the line of standard input that has the variables of the function. Ends the process if the server has gone. */
function readVariables() {
  const line = []
  const piece = new Uint8Array(65_536)
  const decoder = new TextDecoder()
  while (true) {
    const length = Deno.stdin.readSync(piece)
    if (length === null) Deno.exit(0)
    line.push(decoder.decode(piece.subarray(0, length), { stream: true }))
    if (piece[length - 1] === 10) return JSON.parse(line.join(''))
  }
}

async function endWithHost() {
  const byte = new Uint8Array(1)
  while ((await Deno.stdin.read(byte)) !== null);
  Deno.exit(0)
}

const variables = readVariables()
serve({ path: calls, onListen() {}, onError: fail }, handle)
serve({ path: orders, onListen() {} }, obey)
endWithHost()
for (const right of ['read', 'write']) await Deno.permissions.revoke({ name: right, path: folder })
for (const variable of hidden) Deno.env.delete(variable)
for (const [variable, value] of Object.entries(variables)) Deno.env.set(variable, value)

const { default: exported } = await import(entrypoint)
if (typeof exported?.fetch === 'function') take(exported.fetch.bind(exported))
const timer = setTimeout(() => {
  console.error('The function has started, but neither calls Deno.serve(handler) nor exports { fetch }')
  Deno.exit(1)
}, HANDLER_WAIT)
await captured
clearTimeout(timer)
watchErrors('unhandledrejection', 'unhandledRejection', '(in promise) ', (event) => event.reason)
watchErrors('error', 'uncaughtException', '', (event) => event.error ?? event.message)
report({ state: 'ready' })
