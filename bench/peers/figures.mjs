import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'

import { load } from '../lib/load.mjs'
import { memory } from '../lib/processes.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Running } from '../lib/running.mjs'
import { compared, heading, mebibytes, table } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'
import { PocketBase } from './pocketbase.mjs'

const rows = 1000
const connections = 16
const post = JSON.stringify({ title: 'Another post', body: 'text '.repeat(40) })

/**
 * Measures Basalt beside PocketBase, which somebody with one small server may choose instead: both with one table of
 * 1,000 rows, asked in turns. `BENCH_POCKETBASE` names PocketBase's program; without it nothing is measured.
 * @param {string} binary
 * @param {{ seconds: number, rounds: number }} how
 */
export async function peers(binary, { seconds, rounds }) {
  const other = process.env.BENCH_POCKETBASE
  heading('Basalt and PocketBase, one table of 1,000 rows')
  if (other === undefined) {
    process.stdout.write('  left out: BENCH_POCKETBASE does not name a program\n')
    return
  }
  const running = new Running()
  try {
    const project = path.join(import.meta.dirname, 'project')
    const basalt = running.add(await Server.start({ binary, env: quiet, project }))
    const pocketbase = running.add(await PocketBase.start(other, rows))
    const atRest = [await memoryOf(basalt), memory(pocketbase.pid).now]
    const id = await basalt.psql('select id from posts limit 1')
    const requestSets = [requestsOf(basalt, id), requestsOf(pocketbase)]
    const lines = []
    for (const name of ['one row by its key', 'the 100 newest rows', 'one row added']) {
      const turns = []
      for (let round = 0; round < rounds; round += 1) {
        const speeds = []
        for (const [url, requests] of requestSets)
          speeds.push((await load(url, [requests[name]], { connections, seconds })).per_second)
        turns.push(speeds)
      }
      lines.push([`${name}, requests/s`, ...compared(turns)])
    }
    const afterLoad = [await memoryOf(basalt), memory(pocketbase.pid).now]
    const sizes = [binary, other].map((program) => statSync(program).size)
    table(
      ['', 'Basalt', 'PocketBase', 'ratio'],
      [
        [
          'first start to first response',
          `${basalt.startedIn} ms`,
          `${pocketbase.startedIn} ms`,
          '',
        ],
        ['program', ...sizes.map(mebibytes), ''],
        ['memory at rest, with its database', ...atRest.map(mebibytes), ''],
        ...lines,
        ['memory after it, with its database', ...afterLoad.map(mebibytes), ''],
      ],
    )
  } finally {
    await running.stop()
  }
}

/** Returns what Basalt and its Postgres hold in memory for themselves: what its processes share is counted once. */
async function memoryOf(server) {
  const postmaster = await server.postgresPid()
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
  const pids = [postmaster, ...children.trim().split(' ').filter(Boolean).map(Number)]
  return pids.reduce((sum, pid) => sum + proportional(pid), memory(server.process.pid).now)
}

/**
 * Returns the proportional set size of a process in bytes: shared pages are divided among those who share them. Linux
 * only.
 */
function proportional(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024
  } catch {
    return 0 // it has ended
  }
}

/** Returns the address of a server and what is asked of it, by name. */
function requestsOf(server, id) {
  if (server instanceof PocketBase) {
    const records = '/api/collections/posts/records'
    const headers = { 'content-type': 'application/json' }
    return [
      server.url,
      {
        'one row by its key': { path: `${records}/${server.id}` },
        'the 100 newest rows': { path: `${records}?perPage=100&sort=-created&skipTotal=1` },
        'one row added': { method: 'POST', path: records, headers, body: post },
      },
    ]
  }
  const headers = { apikey: server.access.anonKey }
  const json = { ...headers, 'content-type': 'application/json', prefer: 'return=representation' }
  return [
    server.access.url,
    {
      'one row by its key': { path: `/rest/v1/posts?id=eq.${id}`, headers },
      'the 100 newest rows': { path: '/rest/v1/posts?order=created.desc&limit=100', headers },
      'one row added': {
        method: 'POST',
        path: '/rest/v1/posts',
        headers: json,
        body: post,
        status: 201,
      },
    },
  ]
}
