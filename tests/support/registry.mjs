import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'

import { archive, pack, packument } from './packages.mjs'

/** The package that both registries have. */
const name = '@basalt/greeting'

/** What is in the path of its archives. */
const archives = `/${name}/-/`

/** Returns the modules of a version for JSR, of which one imports the other. */
const modules = (/** @type {string} */ words) => ({
  '/mod.ts':
    "import { greeting } from './words.ts'\nexport const greet = (name: string): string => `${greeting} ${name}`\n",
  '/words.ts': `export const greeting: string = '${words}'\n`,
})

/** Returns the files of a version for npm. */
const files = (/** @type {string} */ version, /** @type {string} */ words) => ({
  'package.json': JSON.stringify({ name, version, type: 'module', exports: './mod.js' }),
  'mod.js': `export const greet = (name) => \`${words} \${name}\`\n`,
})

/**
 * A mock of the registry of `jsr:` imports, with one package, and of that of `npm:` imports, with this package and those
 * that are installed for this repository.
 * Source: JSR's documentation, "The JSR registry API"; npm's documentation, "Package metadata".
 */
export class Registry {
  /** What is at which path of JSR. @type {Map<string, string>} */
  #files = new Map()
  /** The archive of each version, from the oldest to the newest. @type {Map<string, Buffer>} */
  #versions = new Map()

  /** @returns {Promise<Registry>} */
  static async start() {
    const server = createServer((request, response) => {
      const url = decodeURIComponent(request.url ?? '')
      void registry.#fileAt(url).then(({ type, body }) => {
        if (body === undefined) response.writeHead(404).end()
        else response.writeHead(200, { 'content-type': type }).end(body)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const registry = new Registry(server)
    await registry.publish('1.2.3', 'good day')
    return registry
  }

  /** @param {import('node:http').Server} server */
  constructor(server) {
    this.server = server
    const address = /** @type {import('node:net').AddressInfo} */ (server.address())
    /** What JSR_URL and NPM_CONFIG_REGISTRY should be; it ends with a slash. */
    this.url = `http://127.0.0.1:${String(address.port)}/`
  }

  /**
   * Publishes a version of the package, in place of the one that has this number.
   * @param {string} version
   * @param {string} words what it greets with
   */
  async publish(version, words) {
    this.#versions.set(version, await archive(files(version, words)))
    const own = Object.entries(modules(words))
    for (const [file, text] of own) this.#files.set(`/${name}/${version}${file}`, text)
    const manifest = Object.fromEntries(own.map(([file, text]) => [file, described(text)]))
    const description = { manifest, exports: { '.': './mod.ts' } }
    this.#files.set(`/${name}/${version}_meta.json`, JSON.stringify(description))
    const all = [...this.#versions.keys()]
    const versions = Object.fromEntries(all.map((one) => [one, {}]))
    const meta = { scope: 'basalt', name: 'greeting', latest: all.at(-1), versions }
    this.#files.set(`/${name}/meta.json`, JSON.stringify(meta))
  }

  stop() {
    this.server.close()
    this.server.closeAllConnections()
  }

  /**
   * @param {string} target
   * @returns {Promise<{ type: string, body: string | Buffer | undefined }>}
   */
  async #fileAt(target) {
    const file = this.#files.get(target)
    if (file !== undefined) {
      const type = target.endsWith('.json') ? 'application/json' : 'application/typescript'
      return { type, body: file }
    }
    if (target === `/${name}`) return { type: 'application/json', body: this.#packument() }
    if (target.startsWith(archives)) {
      const version = target.slice(archives.length)
      return { type: 'application/octet-stream', body: this.#versions.get(version) }
    }
    const [wanted = '', archived] = target.slice(1).split('/-/')
    return archived === undefined
      ? { type: 'application/json', body: await packument(wanted, this.url) }
      : { type: 'application/octet-stream', body: await pack(wanted) }
  }

  /** Returns npm's description of the package. */
  #packument() {
    const versions = Array.from(this.#versions, ([version, bytes]) => {
      const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
      const dist = { tarball: `${this.url.slice(0, -1)}${archives}${version}`, integrity }
      return [version, { name, version, dist }]
    })
    const latest = [...this.#versions.keys()].at(-1)
    return JSON.stringify({
      name,
      'dist-tags': { latest },
      versions: Object.fromEntries(versions),
    })
  }
}

/** @param {string} text */
function described(text) {
  const checksum = `sha256-${createHash('sha256').update(text).digest('hex')}`
  return { size: Buffer.byteLength(text), checksum }
}
