import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { load } from '../lib/load.mjs'
import { processorTime, treeProcessorTime } from '../lib/processes.mjs'
import { Program } from '../lib/program.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Running } from '../lib/running.mjs'
import { median } from '../lib/statistics.mjs'
import { figure, heading, row, table } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'

const repository = path.resolve(import.meta.dirname, '../..')
/** Functions that are called for the first time. */
const colds = 7
/** What should hold on a quiet machine: milliseconds of a first call, of overhead at 16 connections; calls beside the bare proxy. */
const targets = { cold: 250, p50: 0.5, p99: 2, ratio: 0.9 }

/**
 * Calls, in turns, a small function through Basalt, the same code in a Deno of its own, and that Deno behind a relay that
 * copies bytes and behind a minimal proxy; and functions that have never been called before. Prints the overhead of Basalt.
 * @param {string} binary
 */
export async function functions(binary, { seconds, rounds, connections }) {
  heading('Edge functions beside Deno that responds directly, and behind a bare proxy')
  const running = new Running()
  const project = await mkdtemp(path.join(tmpdir(), 'basalt-bench-'))
  try {
    await layOut(project)
    const env = { ...quiet, DENO: deno() }
    const server = running.add(await Server.start({ binary, project, only: ['functions'], env }))
    const hello = path.join(project, 'functions/hello/index.ts')
    const direct = running.add(await startDeno(hello, 'tcp:127.0.0.1:0'))
    const socket = path.join(project, 'behind')
    const behind = running.add(await startDeno(hello, `unix:${socket}`))
    const copier = running.add(await Program.bare('copy', socket))
    const proxy = running.add(await Program.bare('proxy', socket))
    const base = `${server.access.url}/functions/v1`
    row(
      `a first call, median of ${colds}`,
      `${figure(await coldStart(base))} ms, target ${targets.cold} ms`,
    )
    await fetch(`${base}/hello`).then((response) => response.text())
    const peers = [
      { name: 'Deno', url: direct.url, path: '/', used: () => [0, processorTime(direct.pid)] },
      ...Object.entries({ 'copied bytes': copier, 'bare proxy': proxy }).map(([name, between]) => ({
        name,
        url: between.url,
        path: '/',
        used: () => [processorTime(between.pid), processorTime(behind.pid)],
      })),
      {
        name: 'Basalt',
        url: server.access.url,
        path: '/functions/v1/hello',
        used: () => {
          const own = processorTime(server.process.pid)
          return [own, treeProcessorTime(server.process.pid) - own]
        },
      },
    ]
    const rows = []
    for (const count of connections) {
      const figures = await measure(peers, { connections: count, seconds, rounds })
      rows.push(...figures.map((one, index) => line(count, peers[index].name, one, figures)))
    }
    table(
      [
        'connections',
        'peer',
        'calls/s',
        'p50 µs',
        'p99 µs',
        'own µs',
        'Deno µs',
        'overhead p50 ms',
        'p99 ms',
        'of Deno',
        'of copy',
        'of proxy',
      ],
      rows,
    )
    row(
      'targets at 16 connections',
      `p50 ${targets.p50} ms, p99 ${targets.p99} ms, of proxy ${targets.ratio}`,
    )
  } finally {
    await running.stop()
    await rm(project, { recursive: true, force: true })
  }
}

/** Lays out a project with one function that says hello, and copies of it. */
async function layOut(project) {
  const names = ['hello', ...Array.from({ length: colds }, (_, number) => `cold-${number}`)]
  const sections = names.map((name) => `[functions.${name}]\nverify_jwt = false\n`)
  await writeFile(path.join(project, 'config.toml'), `project_id = "bench"\n${sections.join('')}`)
  for (const name of names) {
    const folder = path.join(project, 'functions', name)
    await mkdir(folder, { recursive: true })
    await writeFile(path.join(folder, 'index.ts'), "Deno.serve(() => new Response('hello'))\n")
  }
}

/** Measures the median time of a first call, in milliseconds. */
async function coldStart(base) {
  const times = []
  for (let number = 0; number < colds; number += 1) {
    const begin = performance.now()
    const response = await fetch(`${base}/cold-${number}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`a first call got ${response.status}: ${text}`)
    times.push(performance.now() - begin)
  }
  return median(times)
}

/** Measures the median of each peer's figures over the rounds, in which they take turns. */
async function measure(peers, { connections, seconds, rounds }) {
  const seen = peers.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { url, path, used }] of peers.entries()) {
      const before = used()
      const figures = await load(url, [{ path }], { connections, seconds })
      const [own, deno] = used().map((time, part) => (time - before[part]) / figures.asked)
      seen[index].push({ ...figures, own, deno })
    }
  }
  return seen.map((turns) => ({
    perSecond: median(turns.map((turn) => turn.per_second)),
    p50: median(turns.map((turn) => turn.p50_us)),
    p99: median(turns.map((turn) => turn.p99_us)),
    own: median(turns.map((turn) => turn.own)),
    deno: median(turns.map((turn) => turn.deno)),
  }))
}

function line(count, name, one, [alone, copied, proxied]) {
  const figures = [one.perSecond, one.p50, one.p99, one.own, one.deno].map(figure)
  const common = [count, name, ...figures]
  if (one === alone) return [...common, '', '', '', '', '']
  const overhead = ['p50', 'p99'].map((part) => figure((one[part] - alone[part]) / 1000))
  const ratios = [alone, copied, proxied].map((other) =>
    one === other ? '' : figure(one.perSecond / other.perSecond),
  )
  return [...common, ...overhead, ...ratios]
}

/** Returns the program of the npm package that functions run on. */
function deno() {
  const platform = { linux: `linux-${process.arch}-glibc`, darwin: `darwin-${process.arch}` }
  const name = `@deno/${platform[process.platform]}/deno`
  return createRequire(path.join(repository, 'package.json')).resolve(name)
}

/** Starts Deno with the function alone, at an address as DENO_SERVE_ADDRESS has it. */
function startDeno(file, address) {
  const flags = ['run', '--no-config', '--allow-net', '--allow-read', '--allow-write', file]
  const env = { DENO_SERVE_ADDRESS: address, NO_COLOR: '1' }
  return Program.start(deno(), flags, env, /Listening on (\S+)/)
}
