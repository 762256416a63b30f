import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'

import { program } from '../lib/program.mjs'
import { token } from '../lib/token.mjs'

/** Returns the address of a server's sockets. */
export function address({ access: { url, anonKey } }) {
  return `${url.replace('http', 'ws')}/realtime/v1/websocket?vsn=2.0.0&apikey=${anonKey}`
}

/** Returns the frame that joins the channel of the benchmarks; `more` is what its payload has beside the configuration. */
export function join(config = {}, more = {}) {
  return JSON.stringify(['1', '1', 'realtime:bench', 'phx_join', { config, ...more }])
}

/** What a frame has for each socket to have a token of its own. */
export const OWN_TOKEN = { access_token: '{token}' }

/** The SQL for the time of a row, from which its delay is computed. */
export const NOW = "to_char(extract(epoch from clock_timestamp()) * 1e6, 'FM0000000000000000')"

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

/** Returns what a listening `sockets` has received. */
export async function report(load) {
  load.stdin.write('\n')
  const [line] = await once(load.stdout, 'data')
  return JSON.parse(String(line))
}

/** Waits until a listening `sockets` has received so many messages, or none for a while; returns its last report. */
export async function received(load, count, patience = 5000) {
  let [last, since] = [await report(load), performance.now()]
  while (last.received < count && performance.now() - since < patience) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const next = await report(load)
    if (next.received > last.received) since = performance.now()
    last = next
  }
  return last
}

/**
 * Writes tokens of `users` signed-in users, one a line, and returns the file. The id of user 1 ends with 1, and so on.
 * @param {import('../../tests/support/server.mjs').Server} server
 * @param {string} folder
 * @param {number} users
 */
export async function tokens(server, folder, users) {
  const { JWT_SECRET: secret } = await server.status()
  const exp = Math.floor(Date.now() / 1000) + 3600
  const of = (user) =>
    token({ sub: id(user), role: 'authenticated', aud: 'authenticated', exp }, secret)
  const file = path.join(folder, `tokens-${String(users)}`)
  await writeFile(file, Array.from({ length: users }, (_, index) => of(index + 1)).join('\n'))
  return file
}

function id(user) {
  return `00000000-0000-4000-8000-${String(user).padStart(12, '0')}`
}

/** The SQL for the id of a user. `number` is the SQL for the user's number. */
export function userId(number) {
  return `('00000000-0000-4000-8000-' || lpad((${number})::text, 12, '0'))::uuid`
}
