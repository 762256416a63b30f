import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { load } from '../lib/load.mjs'
import { Running } from '../lib/running.mjs'
import { median } from '../lib/statistics.mjs'
import { figure, heading, row, table } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'

const repository = path.resolve(import.meta.dirname, '../..')
/** Functions that are called for the first time. */
const colds = 7
/** What should hold on a quiet machine: milliseconds of a first call, of overhead at 16 connections; calls beside Deno. */
const targets = { cold: 250, p50: 0.5, p99: 2, ratio: 0.5 }

/**
 * Calls a function that says hello through Basalt and the same code in a Deno of its own, in turns, and functions that
 * were never called before; prints what it costs to go through Basalt.
 * @param {string} binary
 */
export async function functions(binary, { seconds, rounds, connections }) {
  heading('Edge functions beside Deno that answers directly')
  const running = new Running()
  const project = await mkdtemp(path.join(tmpdir(), 'basalt-bench-'))
  try {
    await layOut(project)
    const env = {
      BASALT_ADMIN_PORT: '0',
      BASALT_DATABASE_PORT: '0',
      BASALT_LOG: 'warn',
      DENO: deno(),
    }
    const server = running.add(await Server.start({ binary, project, only: ['functions'], env }))
    const direct = running.add(await Direct.start(path.join(project, 'functions/hello/index.ts')))
    const base = `${server.access.url}/functions/v1`
    row(
      `a first call, median of ${colds}`,
      `${figure(await coldStart(base))} ms, target ${targets.cold} ms`,
    )
    await fetch(`${base}/hello`).then((answer) => answer.text())
    const peers = [
      { name: 'Deno', url: direct.url, path: '/' },
      { name: 'Basalt', url: server.access.url, path: '/functions/v1/hello' },
    ]
    const rows = []
    for (const count of connections) {
      const [alone, through] = await measure(peers, { connections: count, seconds, rounds })
      rows.push(...lines(count, alone, through))
    }
    table(
      ['connections', 'peer', 'calls/s', 'p50 µs', 'p99 µs', 'overhead p50 ms', 'p99 ms', 'ratio'],
      rows,
    )
    row(
      'targets at 16 connections',
      `p50 ${targets.p50} ms, p99 ${targets.p99} ms, ratio ${targets.ratio}`,
    )
  } finally {
    await running.stop()
    await rm(project, { recursive: true, force: true })
  }
}

/** A project with one function that says hello, and copies of it. */
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

/** The median time of a first call, in milliseconds. */
async function coldStart(base) {
  const times = []
  for (let number = 0; number < colds; number += 1) {
    const begin = performance.now()
    const answer = await fetch(`${base}/cold-${number}`)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`a first call was answered with ${answer.status}: ${text}`)
    times.push(performance.now() - begin)
  }
  return median(times)
}

/** The median of each peer's figures over the rounds, in which they take turns. */
async function measure(peers, { connections, seconds, rounds }) {
  const seen = peers.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { url, path }] of peers.entries()) {
      seen[index].push(await load(url, [{ path }], { connections, seconds }))
    }
  }
  return seen.map((turns) => ({
    perSecond: median(turns.map((turn) => turn.per_second)),
    p50: median(turns.map((turn) => turn.p50_us)),
    p99: median(turns.map((turn) => turn.p99_us)),
  }))
}

function lines(count, alone, through) {
  const overhead = (name) => figure((through[name] - alone[name]) / 1000)
  const common = ({ perSecond, p50, p99 }) => [figure(perSecond), figure(p50), figure(p99)]
  const ratio = figure(through.perSecond / alone.perSecond)
  return [
    [count, 'Deno', ...common(alone), '', '', ''],
    [count, 'Basalt', ...common(through), overhead('p50'), overhead('p99'), ratio],
  ]
}

/** The program of the npm package that functions run on. */
function deno() {
  const platform = { linux: `linux-${process.arch}-glibc`, darwin: `darwin-${process.arch}` }
  const name = `@deno/${platform[process.platform]}/deno`
  return createRequire(path.join(repository, 'package.json')).resolve(name)
}

/** Deno with the function alone, on a free port. */
class Direct {
  static async start(file) {
    const child = spawn(deno(), ['run', '--no-config', '--allow-net', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, DENO_SERVE_ADDRESS: 'tcp:127.0.0.1:0', NO_COLOR: '1' },
    })
    const url = await new Promise((resolve, reject) => {
      let output = ''
      const read = (chunk) => {
        output += chunk
        const port = /Listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1]
        if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
      }
      for (const stream of [child.stdout, child.stderr]) stream.on('data', read)
      child.once('exit', () => reject(new Error(`Deno ended: ${output}`)))
    })
    return new Direct(child, url)
  }

  constructor(child, url) {
    this.child = child
    this.url = url
  }

  async stop() {
    const ended = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await ended
  }
}
