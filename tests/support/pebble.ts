import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import https from 'node:https'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { freePort } from '../../bench/lib/ports.mjs'
import { end, forget, track } from './programs.mjs'

/** How long Pebble may take until it answers and until it has ended, in milliseconds. */
const limit = 20_000

/** Makes a certificate of `localhost` that signs itself, in the files `name.pem` and `name.key` of a folder. */
export function selfSigned(folder: string, name: string) {
  const key = path.join(folder, `${name}.key`)
  const certificate = path.join(folder, `${name}.pem`)
  const extensions = ['subjectAltName=DNS:localhost,IP:127.0.0.1', 'basicConstraints=CA:FALSE']
  const arguments_ = [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-days', '2', '-subj', '/CN=localhost', '-keyout', key, '-out', certificate],
    ...extensions.flatMap((extension) => ['-addext', extension]),
  ]
  execFileSync('openssl', arguments_, { stdio: 'ignore' })
  return { key, certificate }
}

/** Where Pebble looks for a server, and how long its certificates are valid. */
export interface PebbleOptions {
  httpPort: number
  tlsPort: number
  /** In seconds. */
  validity: number
  /** Words before its command line. */
  entering?: string[]
}

/** The ACME server that Let's Encrypt makes for tests. It forgets everything when it ends. */
export class Pebble {
  #process
  /** All that it has written. */
  log = ''

  private constructor(
    readonly folder: string,
    readonly directoryPort: number,
    readonly managementPort: number,
    entering: string[],
  ) {
    const command = [...entering, 'pebble', '-config', path.join(folder, 'pebble.json')]
    const [program = '', ...words] = command
    this.#process = spawn(program, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Some nonces are refused, as by a real one.
      env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '10' },
    })
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream.on('data', (chunk) => (this.log += String(chunk)))
    }
    track(this.#process, () => this.stop())
  }

  /** Starts one whose files are in `folder`, on the ports of `earlier` if that is given. */
  static async start(folder: string, options: PebbleOptions, earlier?: Pebble) {
    const directoryPort = earlier?.directoryPort ?? (await freePort())
    const managementPort = earlier?.managementPort ?? (await freePort())
    const own = earlier === undefined ? selfSigned(folder, 'pebble') : filesIn(folder)
    const pebble = {
      listenAddress: `127.0.0.1:${String(directoryPort)}`,
      managementListenAddress: `127.0.0.1:${String(managementPort)}`,
      certificate: own.certificate,
      privateKey: own.key,
      httpPort: options.httpPort,
      tlsPort: options.tlsPort,
      certificateValidityPeriod: options.validity,
    }
    await writeFile(path.join(folder, 'pebble.json'), JSON.stringify({ pebble }))
    const started = new Pebble(folder, directoryPort, managementPort, options.entering ?? [])
    await started.root()
    return started
  }

  /** The settings of a server that gets its certificate here. */
  get environment() {
    return {
      BASALT_TLS_ACME_DIRECTORY: `https://localhost:${String(this.directoryPort)}/dir`,
      BASALT_TLS_ACME_ROOT: filesIn(this.folder).certificate,
    }
  }

  /** How many certificates it has issued. */
  get issued() {
    return this.log.split('Issued certificate serial').length - 1
  }

  /** Returns the certificate of the authority that it issues with, once it answers. */
  async root() {
    const ca = readFileSync(filesIn(this.folder).certificate, 'utf8')
    const url = `https://localhost:${String(this.managementPort)}/roots/0`
    for (const deadline = Date.now() + limit; ;) {
      const text = await fetchText(url, ca).catch(() => null)
      if (text !== null) return text
      if (Date.now() > deadline) throw new Error(`Pebble does not answer: ${this.log}`)
      await pause(50)
    }
  }

  async stop() {
    await end(this.#process, 'SIGTERM', limit)
    forget(this.#process)
  }
}

function filesIn(folder: string) {
  return { key: path.join(folder, 'pebble.key'), certificate: path.join(folder, 'pebble.pem') }
}

function fetchText(url: string, ca: string) {
  return new Promise<string>((resolve, reject) => {
    const request = https.get(url, { ca, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => {
        resolve(text)
      })
    })
    request.on('error', reject)
  })
}
