import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'

import { freePort } from '../../bench/lib/ports.mjs'
import { Nats } from '../support/nats.mjs'
import { temporaryFolder } from '../support/postgres.mjs'
import { Replication } from '../support/replication.mjs'
import { Server } from '../support/server.mjs'
import { Balancer } from './balancer.mjs'
import { Store } from './store.mjs'

/** Seconds between a node's report that it is not ready and its stop: longer than the balancer takes to notice. */
const drainDelay = '2'

/**
 * How to start a cluster.
 * @typedef {object} Options
 * @property {string} [binary] by default the one named by BASALT_BINARY, else the debug build
 * @property {string} [project] the project's folder, by default the repository
 * @property {number} [port] where clients reach it, by default a free port
 * @property {Record<string, string>} [env] more settings of the nodes
 */

/** One of the servers of a cluster, at the same address however often it is started. */
class Node {
  /** @type {Server | undefined} */
  #server
  #options

  /** @param {import('../support/server.mjs').Options & { port: number, dataDir: string }} options */
  constructor(options) {
    this.#options = options
  }

  get server() {
    if (!this.#server) throw new Error('the node has not been started')
    return this.#server
  }

  /** Returns what a client needs to reach this node without the balancer. */
  get access() {
    return { ...this.server.access, url: `http://127.0.0.1:${this.#options.port}` }
  }

  async start() {
    this.#server = await Server.start(this.#options)
  }

  /** Stops it as an operator does: it reports that it is not ready, and finishes the requests under way. */
  async stop() {
    await this.#server?.stop({ keepData: true })
  }

  /** Kills it. */
  async kill() {
    await this.#server?.kill()
  }
}

/** Parts that are started one after the other, and ended in the opposite order. */
class Parts {
  /** @type {(() => Promise<unknown>)[]} */
  #ends = []

  /**
   * @template {{ stop(): Promise<unknown> }} Part
   * @param {Part} part
   */
  add(part) {
    this.#ends.push(() => part.stop())
    return part
  }

  async stop() {
    for (const end of this.#ends.splice(0).reverse()) await end()
  }
}

/**
 * A production cluster, as processes of this machine: a primary and two standbys, NATS, an S3 store, two nodes, and a
 * balancer in front.
 */
export class Cluster {
  /** @param {Options} [options] */
  static async start(options = {}) {
    const parts = new Parts()
    try {
      return new Cluster(parts, await startAll(parts, options))
    } catch (error) {
      await parts.stop()
      throw error
    }
  }

  #parts

  /**
   * @param {Parts} parts
   * @param {Awaited<ReturnType<typeof startAll>>} named
   */
  constructor(parts, { postgres, nats, store, balancer, one, two, url }) {
    this.#parts = parts
    this.postgres = postgres
    this.nats = nats
    this.store = store
    this.balancer = balancer
    this.one = one
    this.two = two
    this.url = url
  }

  /** Returns what a client needs to reach the nodes through the balancer. */
  get access() {
    return { ...this.one.access, url: this.url }
  }

  /** Ends everything and removes all data. */
  async stop() {
    await this.#parts.stop()
  }
}

/**
 * @param {Parts} parts
 * @param {Options} options
 */
async function startAll(parts, { binary, project, port, env }) {
  const folder = await temporaryFolder('basalt-cluster-')
  parts.add({ stop: () => rm(folder, { recursive: true, force: true }) })
  const postgres = parts.add(await Replication.start({ standbys: 2 }))
  const nats = parts.add(new Nats(await freePort()))
  const store = parts.add(new Store(await freePort(), path.join(folder, 'store')))
  await Promise.all([nats.start(), store.start()])

  const [first, second, entrance] = [await freePort(), await freePort(), port ?? (await freePort())]
  const url = `http://127.0.0.1:${entrance}`
  const settings = {
    DATABASE_URL: postgres.url,
    BASALT_ADOPT_DATABASE: '1',
    // All servers: the nodes find out which of them are standbys.
    PGRST_DB_READ_URIS: postgres.servers.map((server) => server.uri()).join(','),
    JWT_SECRET: randomBytes(32).toString('hex'),
    NATS_URL: nats.url,
    API_EXTERNAL_URL: url,
    BASALT_TRUSTED_PROXIES: '1',
    BASALT_DRAIN_DELAY: drainDelay,
    BASALT_ADMIN_PORT: '0',
    ...store.settings,
    ...env,
  }
  const node = (/** @type {number} */ port, /** @type {string} */ name) =>
    parts.add(new Node({ binary, project, port, dataDir: path.join(folder, name), env: settings }))
  const [one, two] = [node(first, 'one'), node(second, 'two')]
  // Both at once, as after a power cut: one of them sets up the database.
  await Promise.all([one.start(), two.start()])
  const balancerFolder = path.join(folder, 'balancer')
  await mkdir(balancerFolder)
  const balancer = parts.add(await Balancer.start(entrance, [first, second], balancerFolder))
  return { postgres, nats, store, balancer, one, two, url }
}
