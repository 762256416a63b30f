import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'

import { bare } from '../lib/bare.mjs'
import { load } from '../lib/load.mjs'
import { pgbench } from '../lib/pgbench.mjs'
import { Postgres } from '../lib/postgres.mjs'
import { memory } from '../lib/processes.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Running } from '../lib/running.mjs'
import { compared, figure, heading, mebibytes, row, table } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'
import { Nginx } from './nginx.mjs'
import { Objects } from './objects.mjs'

const connections = 16
const files = { '1 KiB': randomBytes(1024), '1 MiB': randomBytes(2 ** 20) }
/** Objects of the bucket that is listed. */
const LISTED = 100_000

/**
 * Measures public objects beside nginx, uploads beside bare inserts and files, lists beside the query that they need.
 * @param {string} binary
 * @param {{ seconds: number, rounds: number }} how
 */
export async function storage(binary, { seconds, rounds }) {
  const running = new Running()
  const how = { connections, seconds, rounds }
  try {
    const server = running.add(await Server.start({ binary, env: quiet }))
    const objects = new Objects(server.access)
    const database = await Postgres.of(server)
    await downloads(running, server, objects, how)
    await uploads(server, objects, database, how)
    await lists(server, objects, database, how)
    row('server after it, RSS', mebibytes(memory(server.process.pid).now))
  } finally {
    await running.stop()
  }
}

/**
 * Measures public objects of 1 KiB and of 1 MiB, in turns from Basalt and from nginx, which serves the same bytes
 * from a folder.
 */
async function downloads(running, server, objects, { rounds, ...how }) {
  heading(`Public objects, ${connections} connections`)
  const program = process.env.NGINX ?? 'nginx'
  if (spawnSync(program, ['-v']).error !== undefined) {
    process.stdout.write(`  left out: there is no ${program}\n`)
    return
  }
  const names = Object.fromEntries(Object.keys(files).map((size) => [size, size.replace(' ', '-')]))
  const contents = Object.entries(files).map(([size, bytes]) => [names[size], bytes])
  const nginx = running.add(await Nginx.start(Object.fromEntries(contents), program))
  await objects.bucket('public', true)
  for (const [name, bytes] of contents) await objects.upload(`public/${name}`, bytes)
  const lines = []
  for (const [size, name] of Object.entries(names)) {
    const requests = [{ path: `/storage/v1/object/public/public/${name}` }]
    const turns = []
    for (let round = 0; round < rounds; round += 1) {
      const ours = await load(server.access.url, requests, how)
      const theirs = await load(nginx.url, [{ path: `/${name}` }], how)
      turns.push([ours.per_second, theirs.per_second])
    }
    lines.push([size, ...compared(turns)])
  }
  table(['GET/s of', 'Basalt', 'nginx', 'ratio'], lines)
}

/** Uploads of 1 KiB beside the necessary work: the insert of the row, and a file that is synchronized with the disk. */
async function uploads(server, objects, database, { rounds, ...how }) {
  heading(`Uploads of 1 KiB, ${connections} connections`)
  await objects.bucket('uploads', false)
  const requests = [
    {
      method: 'POST',
      path: '/storage/v1/object/uploads/{uuid}',
      headers: { ...objects.headers, 'content-type': 'application/octet-stream' },
      body: 'x'.repeat(1024),
    },
  ]
  const insert = {
    sql: "insert into storage.objects (bucket_id, name, version) values ('uploads', gen_random_uuid()::text, gen_random_uuid()::text)",
    role: 'service_role',
    writes: true,
  }
  // Beside the data folder, so that both write to the same disk.
  const folder = await mkdtemp(path.join(server.dataDir, 'bare-'))
  const lines = []
  const turns = []
  for (let round = 0; round < rounds; round += 1) {
    const ours = await load(server.access.url, requests, how)
    const rows = await pgbench(database.environment, insert, how)
    const flags = ['--threads', connections, '--seconds', Math.ceil(how.seconds)]
    const durable = await bare('files', path.join(folder, String(round)), ...flags)
    const both = 1 / (1 / rows.per_second + 1 / durable.per_second)
    turns.push([ours.per_second, both])
    lines.push([round + 1, rows.per_second, durable.per_second, both, ours.per_second].map(figure))
  }
  await rm(folder, { recursive: true, force: true })
  table(['round', 'inserts/s', 'files/s', 'one after the other', 'Basalt'], lines)
  row('Basalt of one after the other', compared(turns)[2])
}

/** Lists of 100 of 100,000 objects, beside an index scan that returns as many rows. */
async function lists(server, objects, database, { rounds, ...how }) {
  heading(`Lists of 100 of ${LISTED} objects, ${connections} connections`)
  await objects.bucket('lists', false)
  await database.sql(
    `insert into storage.objects (bucket_id, name, version, metadata)
       select 'lists', format('folder-%s/object-%s', to_char(n % 10, 'FM00'), to_char(n, 'FM000000')),
         gen_random_uuid()::text, '{"size": 1, "mimetype": "image/png", "cacheControl": "no-cache"}'
       from generate_series(1, ${LISTED}) n`,
    'vacuum analyze storage.objects',
  )
  const headers = { ...objects.headers, 'content-type': 'application/json' }
  const post = (target, body) => [
    { method: 'POST', path: `/storage/v1/object/${target}`, headers, body: JSON.stringify(body) },
  ]
  const middle = Buffer.from('l:folder-05/object-050005\no:asc\nc:name').toString('base64')
  const workloads = {
    'a folder (version 1)': post('list/lists', { prefix: 'folder-05', limit: 100 }),
    'its root (version 1)': post('list/lists', { prefix: '', limit: 100 }),
    'a folder (version 2)': post('list-v2/lists', {
      prefix: 'folder-05/',
      limit: 100,
      with_delimiter: true,
    }),
    'a page in the middle (version 2)': post('list-v2/lists', { limit: 100, cursor: middle }),
  }
  const scan = {
    sql: `select row_to_json(o) from (select name, id, metadata, updated_at, created_at, last_accessed_at
       from storage.objects where bucket_id = 'lists' and name collate "C" > 'folder-05/object-050005'
       order by name collate "C" limit 100) o`,
    role: 'service_role',
  }
  const lines = []
  for (const [name, requests] of Object.entries(workloads)) {
    const turns = []
    for (let round = 0; round < rounds; round += 1) {
      const ours = await load(server.access.url, requests, how)
      const theirs = await pgbench(database.environment, scan, how)
      turns.push([ours.per_second, theirs.per_second])
    }
    lines.push([name, ...compared(turns)])
  }
  table(['lists/s', 'Basalt', 'pgbench', 'ratio'], lines)
}
