import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'

import { pack, packument } from './packages.mjs'

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
 * A mock of the registry of `jsr:` imports, with one package, and of that of `npm:` imports, with those that are
 * installed for this repository.
 * Source: JSR's documentation, "The JSR registry API".
 */
export class Registry {
  /** @returns {Promise<Registry>} */
  static async start() {
    const server = createServer((request, response) => {
      const url = decodeURIComponent(request.url ?? '')
      void fileAt(url, registry.url).then(({ type, body }) => {
        if (body === undefined) response.writeHead(404).end()
        else response.writeHead(200, { 'content-type': type }).end(body)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const registry = new Registry(server)
    return registry
  }

  /** @param {import('node:http').Server} server */
  constructor(server) {
    this.server = server
    const address = /** @type {import('node:net').AddressInfo} */ (server.address())
    /** What JSR_URL and NPM_CONFIG_REGISTRY should be; it ends with a slash. */
    this.url = `http://127.0.0.1:${String(address.port)}/`
  }

  stop() {
    this.server.close()
    this.server.closeAllConnections()
  }
}

/**
 * @param {string} target
 * @param {string} registry
 * @returns {Promise<{ type: string, body: string | Buffer | undefined }>}
 */
async function fileAt(target, registry) {
  const file = files.get(target)
  if (file !== undefined) {
    const type = target.endsWith('.json') ? 'application/json' : 'application/typescript'
    return { type, body: file }
  }
  const [name = '', archive] = target.slice(1).split('/-/')
  return archive === undefined
    ? { type: 'application/json', body: await packument(name, registry) }
    : { type: 'application/octet-stream', body: await pack(name) }
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
