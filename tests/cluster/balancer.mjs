import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { freePort } from '../../bench/lib/ports.mjs'
import { responds, Service } from '../support/service.mjs'

const deployed = path.resolve(import.meta.dirname, '../../deploy/haproxy.cfg')
const plain = path.join(import.meta.dirname, 'balancer.cfg')
const certificates = path.resolve(import.meta.dirname, '../support/tls')

/** HAProxy as `deploy/haproxy.cfg` sets it up, with plain HTTP in addition. */
export class Balancer extends Service {
  /** The ports of TLS and of the redirect to it. */
  ports = { http: 0, https: 0 }

  /**
   * Starts it in front of two nodes, and waits until it has noticed that one is ready.
   * @param {number} port
   * @param {[number, number]} nodes the nodes' ports
   * @param {string} folder an empty one, for its certificate
   */
  static async start(port, nodes, folder) {
    const certificate = path.join(folder, 'certificate.pem')
    const parts = ['certificate.pem', 'key.pem'].map((name) =>
      readFile(path.join(certificates, name)),
    )
    await writeFile(certificate, Buffer.concat(await Promise.all(parts)), { mode: 0o600 })
    const local = (/** @type {number} */ port) => `127.0.0.1:${port}`
    const [http, https] = [await freePort(), await freePort()]
    const balancer = new Balancer({
      command: ['haproxy', '-db', '-f', deployed, '-f', plain],
      settings: {
        TLS_CERTIFICATE: certificate,
        HTTP_BIND: local(http),
        HTTPS_BIND: local(https),
        HTTPS_PORT: String(https),
        STATUS_BIND: local(await freePort()),
        PLAIN_BIND: local(port),
        // Each connection takes two open files, and the limit of a user may be lower than that of a server.
        MAX_CONNECTIONS: '2000',
        BASALT_1: local(nodes[0]),
        BASALT_2: local(nodes[1]),
      },
      isReady: () => responds(`http://${local(port)}/health/ready`),
    })
    balancer.ports = { http, https }
    return balancer.start()
  }
}
