import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'

import { load } from '../lib/load.mjs'
import { memory } from '../lib/processes.mjs'
import { Running } from '../lib/running.mjs'
import { median } from '../lib/statistics.mjs'
import { figure, heading, mebibytes, row, table } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'
import { Nginx } from './nginx.mjs'

const connections = 16
const files = { small: randomBytes(1024), large: randomBytes(2 ** 20) }

/**
 * Public objects of 1 KiB and of 1 MiB, in turns from Basalt and from nginx, which serves the same bytes from a folder.
 * @param {string} binary
 * @param {{ seconds: number, rounds: number }} how
 */
export async function storage(binary, { seconds, rounds }) {
  heading(`Public objects, ${connections} connections`)
  const program = process.env.NGINX ?? 'nginx'
  if (spawnSync(program, ['-v']).error !== undefined) {
    process.stdout.write(`  left out: there is no ${program}\n`)
    return
  }
  const env = { BASALT_ADMIN_PORT: '0', BASALT_DATABASE_PORT: '0', BASALT_LOG: 'warn' }
  const running = new Running()
  try {
    const basalt = running.add(await Server.start({ binary, env }))
    const nginx = running.add(await Nginx.start(files, program))
    const folder = await fill(basalt)
    const lines = []
    for (const [name, bytes] of Object.entries(files)) {
      const turns = []
      for (let round = 0; round < rounds; round += 1) {
        const how = { connections, seconds }
        const ours = await load(basalt.access.url, [{ path: `${folder}/${name}` }], how)
        const theirs = await load(nginx.url, [{ path: `/${name}` }], how)
        turns.push([ours.per_second, theirs.per_second])
      }
      const [ours, theirs] = [0, 1].map((index) => median(turns.map((speeds) => speeds[index])))
      const ratio = median(turns.map(([first, second]) => first / second))
      lines.push([mebibytes(bytes.length), figure(ours), figure(theirs), ratio.toFixed(2)])
    }
    table(['GET/s of', 'Basalt', 'nginx', 'ratio'], lines)
    row('server after it, RSS', mebibytes(memory(basalt.process.pid).now))
  } finally {
    await running.stop()
  }
}

/** Makes a public bucket with the files and returns the path of its objects. */
async function fill({ access: { url, serviceKey } }) {
  const headers = { authorization: `Bearer ${serviceKey}` }
  const post = async (target, type, body) => {
    const request = { method: 'POST', headers: { ...headers, 'content-type': type }, body }
    const answer = await fetch(`${url}/storage/v1/${target}`, request)
    if (!answer.ok) throw new Error(`storage: ${target}: ${await answer.text()}`)
  }
  await post('bucket', 'application/json', JSON.stringify({ name: 'bench', public: true }))
  for (const [name, bytes] of Object.entries(files))
    await post(`object/bench/${name}`, 'application/octet-stream', bytes)
  return '/storage/v1/object/public/bench'
}
