import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { Postgres, temporaryFolder } from './postgres.mjs'

/** @typedef {import('../../bench/lib/network.mjs').Network} Network */

/**
 * A primary and its standbys. A commit is acknowledged once one standby has it, so that the standby that has most can
 * take the primary's place without a loss, and so that with two standbys one of them may be away.
 */
export class Replication {
  #folder
  /** @type {Postgres[]} */
  #servers = []

  /**
   * Makes and starts all of them.
   * @param {{ standbys?: number, settings?: import('./postgres.mjs').Settings, networks?: Network[] }} [options]
   *   `networks` are those of the standbys, which know nobody but the primary then
   */
  static async start({ standbys = 1, settings = {}, networks = [] } = {}) {
    const replication = new Replication(await temporaryFolder('basalt-replication-'))
    try {
      await replication.#make(standbys, settings, networks)
      return replication
    } catch (error) {
      await replication.stop()
      throw error
    }
  }

  constructor(/** @type {string} */ folder) {
    this.#folder = folder
  }

  /** Returns all servers: the primary, then the standbys. */
  get servers() {
    return [...this.#servers]
  }

  /** Returns the server that takes writes; one that has been killed, until another one is promoted. */
  get primary() {
    return this.#member(0)
  }

  /** Returns the first standby. */
  get standby() {
    return this.#member(1)
  }

  /** Returns a connection string of all servers, which leads to the one that takes writes. */
  get url() {
    const hosts = this.#servers.map(({ host, port }) => `${host}:${port}`)
    return `postgres://postgres@${hosts.join(',')}/postgres?target_session_attrs=read-write`
  }

  /** Lets the standby that has most take the place of the primary, which has ended, and returns it. */
  async promote() {
    const standbys = this.#servers.slice(1)
    const received = await Promise.all(
      standbys.map(async (standby) => {
        const [row] = await standby.sql(
          "select pg_last_wal_receive_lsn() - '0/0' as bytes from pg_is_in_recovery()",
        )
        return Number(row?.bytes)
      }),
    )
    const chosen = standbys[received.indexOf(Math.max(...received))] ?? this.standby
    await chosen.sql('select pg_promote()')
    const others = standbys.filter((standby) => standby !== chosen)
    this.#servers = [chosen, ...others, this.primary]
    return chosen
  }

  /** Kills all of them and removes their data. */
  async stop() {
    await Promise.all(this.#servers.map((server) => server.stop('SIGKILL')))
    await rm(this.#folder, { recursive: true, force: true })
  }

  /**
   * @param {number} standbys
   * @param {import('./postgres.mjs').Settings} settings
   * @param {Network[]} networks
   */
  async #make(standbys, settings, networks) {
    const names = Array.from({ length: standbys }, (_, index) => `standby_${index + 1}`)
    const primary = await Postgres.create(await this.#subfolder('primary'), {
      settings: { hot_standby_feedback: 'on', wal_retrieve_retry_interval: '100ms', ...settings },
    })
    this.#servers.push(primary)
    await primary.start()
    for (const name of names) {
      await primary.sql(`select pg_create_physical_replication_slot('${name}', true)`)
    }
    await primary.stop()
    if (networks.length > 0) await primary.open(networks.map(({ outside }) => outside))
    for (const [index, name] of names.entries()) {
      this.#servers.push(await primary.copy(await this.#subfolder(name), networks[index]))
    }
    for (const [index, server] of this.#servers.entries()) {
      await this.#configure(server, names[index - 1], names, networks[index - 1])
    }
    await Promise.all(this.#servers.map((server) => server.start()))
  }

  /**
   * Sets which standbys a server waits for as the primary, and which server it follows as a standby.
   * @param {Postgres} server
   * @param {string | undefined} name that of a standby
   * @param {string[]} names those of all standbys
   * @param {Network} [network]
   */
  async #configure(server, name, names, network) {
    const others = names.filter((one) => one !== name)
    await server.configure({
      synchronous_standby_names: others.length === 0 ? '' : `ANY 1 (${others.join(', ')})`,
      // Row changes are told once every one of these has them: of several, one that is away would hold all up.
      synchronized_standby_slots: others.length === 1 ? others.join('') : '',
    })
    if (name === undefined) return
    const members = network ? [this.primary] : this.#servers.filter((one) => one !== server)
    const ports = members.map(({ port }) => port)
    const hosts = members.map(({ host }) => network?.outside ?? host).join(',')
    await server.configure({
      primary_conninfo: `host=${hosts} port=${ports.join(',')} user=postgres dbname=postgres application_name=${name} target_session_attrs=read-write`,
      primary_slot_name: name,
      sync_replication_slots: 'on',
    })
    await writeFile(path.join(server.data, 'standby.signal'), '')
  }

  async #subfolder(/** @type {string} */ name) {
    const folder = path.join(this.#folder, name)
    await mkdir(folder)
    await chmod(folder, 0o711)
    return folder
  }

  #member(/** @type {number} */ index) {
    const server = this.#servers[index]
    if (!server) throw new Error(`there is no server ${index} of ${this.#servers.length}`)
    return server
  }
}
