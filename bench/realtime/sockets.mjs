import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { program } from '../lib/program.mjs'

/** Returns the address of a server's sockets. */
export function address({ access: { url, anonKey } }) {
  return `${url.replace('http', 'ws')}/realtime/v1/websocket?vsn=2.0.0&apikey=${anonKey}`
}

/** Returns the frame that joins the channel of the benchmarks. */
export function join(config = {}) {
  return JSON.stringify(['1', '1', 'realtime:bench', 'phx_join', { config }])
}

/** The frame of a broadcast to that channel. */
export const message = JSON.stringify([
  '1',
  null,
  'realtime:bench',
  'broadcast',
  { type: 'broadcast', event: 'tick', payload: { t: '{t}', pad: '{pad}' } },
])

/** Runs `sockets` to its end and returns its figures. */
export async function sockets(...flags) {
  const child = startSockets(...flags)
  let text = ''
  child.stdout.on('data', (chunk) => (text += String(chunk)))
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`sockets ended with ${String(code)}`)
  return JSON.parse(text)
}

/** Starts `sockets`, whose standard input and output are the caller's. */
export function startSockets(...flags) {
  return spawn(program('sockets'), flags.map(String), { stdio: ['pipe', 'pipe', 'inherit'] })
}
