import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { freePort } from '../lib/ports.mjs'
import { listens, Service } from '../../tests/support/service.mjs'

/** An nginx that serves the files of a folder of its own, as Debian configures it but for the log. */
export class Nginx extends Service {
  /**
   * Starts `program` with these files.
   * @param {Record<string, Buffer>} files by name
   * @param {string} program
   */
  static async start(files, program) {
    const folder = await mkdtemp(path.join(tmpdir(), 'nginx-'))
    for (const [name, bytes] of Object.entries(files))
      await writeFile(path.join(folder, name), bytes)
    const port = await freePort()
    const configuration = `
      user root;
      worker_processes auto;
      daemon off;
      pid ${folder}/pid;
      error_log ${folder}/error.log;
      events { worker_connections 768; }
      http {
        sendfile on;
        tcp_nopush on;
        access_log off;
        # The load keeps its connections; the default ends each after 1,000 requests.
        keepalive_requests 1000000000;
        server { listen 127.0.0.1:${String(port)}; root ${folder}; }
      }`
    await writeFile(path.join(folder, 'nginx.conf'), configuration)
    return new Nginx(program, folder, port).start()
  }

  constructor(program, folder, port) {
    super({
      command: [program, '-c', path.join(folder, 'nginx.conf')],
      isReady: () => listens(port),
    })
    this.folder = folder
    this.url = `http://127.0.0.1:${String(port)}`
  }

  async stop() {
    await super.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}
