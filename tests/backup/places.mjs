/** Where backups go: a folder, or an S3 store behind TLS. Each can be away for a while. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { Transform } from 'node:stream'
import tls from 'node:tls'

import { freePort } from '../../bench/lib/ports.mjs'
import { certificate, storeSettings } from '../support/backup.mjs'
import { listens, Service } from '../support/service.mjs'

const installed = path.resolve(import.meta.dirname, '../../target/tools/moto/bin/moto_server')
const bucket = 'backups'

/**
 * A place.
 * @typedef {object} Place
 * @property {string} target
 * @property {Record<string, string>} settings how it is reached
 * @property {() => Promise<void>} leave makes it unreachable
 * @property {() => Promise<void>} back makes it reachable again
 * @property {() => Promise<void>} stop
 */

/**
 * Returns a folder below `parent`.
 * @param {string} parent
 * @returns {Place}
 */
export function folderIn(parent) {
  const target = path.join(parent, 'target')
  // The user of Postgres cannot write there; the rest may still be written by root.
  const database = path.join(target, 'database')
  return {
    target,
    settings: {},
    leave: () => chmod(database, 0),
    back: () => chmod(database, 0o700),
    stop: async () => undefined,
  }
}

/**
 * An S3 store.
 * @typedef {Place & {
 *   silence: () => void,
 *   setSlow: (isSlow: boolean) => void,
 * }} Store `silence` has it take connections and no longer respond, until it is back
 */

/** How long each piece takes on its way to or from a slow store, in milliseconds, and for each byte of it. */
const slowness = { piece: 100, byte: 1 / 256 }

/**
 * Starts moto, and a listener with TLS in front of it.
 * @returns {Promise<Store>}
 */
export async function startStore() {
  const port = await freePort()
  const program = existsSync(installed) ? installed : 'moto_server'
  const store = new Service({
    command: [program, '-H', '127.0.0.1', '-p', String(port)],
    isReady: () => listens(port),
  })
  await store.start()
  await fetch(`http://127.0.0.1:${port}/${bucket}`, { method: 'PUT' })

  /** @type {Set<net.Socket>} */
  const sockets = new Set()
  let isSilent = false
  let isSlow = false
  const way = () =>
    new Transform({
      transform(chunk, _encoding, done) {
        if (!isSlow) done(null, chunk)
        else setTimeout(done, slowness.piece + chunk.length * slowness.byte, null, chunk)
      },
    })
  const entrance = await freePort()
  const listener = tls.createServer(await certificate(), (client) => {
    if (isSilent) {
      sockets.add(client)
      client.on('error', () => undefined)
      return
    }
    const behind = net.connect(port, '127.0.0.1')
    const ends = [client, behind]
    for (const end of ends) {
      sockets.add(end)
      end.on('error', () => undefined)
      end.on('close', () => {
        sockets.delete(end)
        for (const other of ends) other.destroy()
      })
    }
    client.pipe(way()).pipe(behind).pipe(way()).pipe(client)
  })
  const back = async () => {
    isSilent = false
    listener.listen(entrance, '127.0.0.1')
    await once(listener, 'listening')
  }
  const leave = async () => {
    listener.close()
    for (const socket of sockets) socket.destroy()
  }
  await back()
  return {
    target: `s3://${bucket}/drill`,
    settings: storeSettings(entrance),
    leave,
    back,
    silence: () => {
      isSilent = true
      for (const socket of sockets) socket.pause()
    },
    setSlow: (value) => (isSlow = value),
    stop: async () => {
      await leave()
      await store.stop()
    },
  }
}

/** Makes an empty project in `parent`. */
export async function emptyProject(/** @type {string} */ parent) {
  const folder = path.join(parent, 'project')
  await mkdir(folder, { recursive: true })
  await writeFile(path.join(folder, 'config.toml'), '')
  return folder
}
