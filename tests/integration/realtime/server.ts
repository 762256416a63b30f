import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { Server } from '../../support/server.mjs'

/** A server of channels alone, with settings of a test's own. */
export interface ChannelServer {
  server: Server
  stop(): Promise<void>
}

/** Starts one; `config` is the text of its project's `config.toml`. */
export async function start(env: Record<string, string>, config = ''): Promise<ChannelServer> {
  const project = await mkdtemp(path.join(tmpdir(), 'basalt-channels-'))
  await writeFile(path.join(project, 'config.toml'), config)
  const quick = { CHANNEL_ERROR_BACKOFF_MS: '50', CONNECT_ERROR_BACKOFF_MS: '50' }
  const server = await Server.start({ only: ['realtime'], project, env: { ...quick, ...env } })
  const stop = async () => {
    await server.stop()
    await rm(project, { recursive: true, force: true })
  }
  return { server, stop }
}
