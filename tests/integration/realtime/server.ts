import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { Server } from '../../support/server.mjs'

/** Starts a server of channels alone, with settings of a test's own; `config` is the text of its `config.toml`. */
export async function start(env: Record<string, string>, config = ''): Promise<Server> {
  const project = await mkdtemp(path.join(tmpdir(), 'basalt-channels-'))
  await writeFile(path.join(project, 'config.toml'), config)
  const quick = { CHANNEL_ERROR_BACKOFF_MS: '50', CONNECT_ERROR_BACKOFF_MS: '50' }
  const options = { project, folders: [project], env: { ...quick, ...env } }
  return Server.start({ ...options, only: ['realtime'] })
}
