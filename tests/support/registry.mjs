import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'

/** The package that the registry has: two modules, of which one imports the other, in one version. */
const scope = '/@basalt/greeting'
const version = '1.2.3'
const modules = new Map([
  [
    '/mod.ts',
    "import { greeting } from './words.ts'\nexport const greet = (name: string): string => `${greeting} ${name}`\n",
  ],
  ['/words.ts', "export const greeting: string = 'good day'\n"],
])

/**
 * A stand-in for the registry of `jsr:` imports, with one package.
 * Source: JSR's documentation, "The JSR registry API".
 */
export class Registry {
  /** @returns {Promise<Registry>} */
  static async start() {
    const server = createServer((request, response) => {
      const file = files.get(request.url ?? '')
      if (file === undefined) return response.writeHead(404).end()
      const type = request.url?.endsWith('.json') ? 'application/json' : 'application/typescript'
      response.writeHead(200, { 'content-type': type }).end(file)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Registry(server)
  }

  /** @param {import('node:http').Server} server */
  constructor(server) {
    this.server = server
    const address = /** @type {import('node:net').AddressInfo} */ (server.address())
    /** What JSR_URL should be; it ends with a slash. */
    this.url = `http://127.0.0.1:${String(address.port)}/`
  }

  stop() {
    this.server.close()
    this.server.closeAllConnections()
  }
}

/** @param {string} text */
function described(text) {
  const checksum = `sha256-${createHash('sha256').update(text).digest('hex')}`
  return { size: Buffer.byteLength(text), checksum }
}

/** What is at which path. */
const files = new Map(
  Object.entries({
    [`${scope}/meta.json`]: JSON.stringify({
      scope: 'basalt',
      name: 'greeting',
      latest: version,
      versions: { [version]: {} },
    }),
    [`${scope}/${version}_meta.json`]: JSON.stringify({
      manifest: Object.fromEntries(Array.from(modules, ([name, text]) => [name, described(text)])),
      exports: { '.': './mod.ts' },
    }),
    ...Object.fromEntries(
      Array.from(modules, ([name, text]) => [`${scope}/${version}${name}`, text]),
    ),
  }),
)
