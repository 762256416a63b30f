import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'

import { listens, Service } from '../support/service.mjs'

const program = path.resolve(import.meta.dirname, '../../target/tools/bin/s3s-fs')

const bucket = 'objects'
const key = 'cluster'
const secret = 'secret of tests'

/** An S3 store that keeps its objects as files of a folder. */
export class Store extends Service {
  /**
   * @param {number} port
   * @param {string} folder
   */
  constructor(port, folder) {
    super({
      command: [
        program,
        ...['--host', '127.0.0.1', '--port', String(port)],
        ...['--access-key', key, '--secret-key', secret, folder],
      ],
      isReady: () => listens(port),
    })
    this.folder = folder
    this.port = port
  }

  async start() {
    if (!existsSync(program)) {
      throw new Error(`expected ${program}: scripts/require-test-tools cluster installs it`)
    }
    await mkdir(path.join(this.folder, bucket), { recursive: true })
    return super.start()
  }

  /** Returns the settings with which a node keeps its objects here. */
  get settings() {
    return {
      STORAGE_BACKEND: 's3',
      STORAGE_S3_BUCKET: bucket,
      STORAGE_S3_ENDPOINT: `http://127.0.0.1:${this.port}`,
      STORAGE_S3_FORCE_PATH_STYLE: 'true',
      AWS_ACCESS_KEY_ID: key,
      AWS_SECRET_ACCESS_KEY: secret,
    }
  }
}
