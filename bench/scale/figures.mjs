import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { load } from '../lib/load.mjs'
import { Network } from '../lib/network.mjs'
import { freePort } from '../lib/ports.mjs'
import { ProcessorShare } from '../lib/processor-share.mjs'
import { processorTime, treeProcessorTime } from '../lib/processes.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Running } from '../lib/running.mjs'
import { median } from '../lib/statistics.mjs'
import { figure, heading, table } from '../lib/table.mjs'
import { address, join, message, sockets } from '../realtime/sockets.mjs'
import { Nats } from '../../tests/support/nats.mjs'
import { Replication } from '../../tests/support/replication.mjs'
import { Server } from '../../tests/support/server.mjs'

/** Nodes, each with a standby of its own, both in a network of their own. */
const NODES = 3
/** What a node and its standby may use together, of one processor: on two, three pairs leave enough for the clients. */
const SHARE = 0.25
/** Client connections to each node. */
const CONNECTIONS = 8
/** Rows that are read. */
const ROWS = 10_000
/** Sockets that listen to broadcasts. */
const LISTENERS = 100

/**
 * Reads through one node and more, what requests cost, and broadcasts from node to node.
 * @param {string} binary
 * @param {{ seconds: number, rounds: number }} how
 */
export async function scale(binary, how) {
  const running = new Running()
  try {
    // First, since a group ends after its processes.
    const shares = Array.from({ length: NODES }, (_, index) =>
      running.add(new ProcessorShare(`basalt-scale-${String(index)}`, SHARE)),
    )
    const { postgres, nodes } = await start(running, binary)
    await costs(postgres, nodes[0], how)
    await broadcasts(nodes, how)
    for (const [index, standby] of postgres.servers.slice(1).entries()) {
      shares[index].add(nodes[index].process.pid, standby.pid)
    }
    await reads(nodes, how)
  } finally {
    await running.stop()
  }
}

/** Starts a primary with a standby for each node, NATS, and the nodes. */
async function start(running, binary) {
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-scale-'))
  running.add({ stop: () => rm(folder, { recursive: true, force: true }) })
  const networks = Array.from({ length: NODES }, (_, index) => running.add(new Network(index)))
  const postgres = running.add(await Replication.start({ standbys: NODES, networks }))
  const nats = running.add(new Nats(await freePort(), '0.0.0.0'))
  await nats.start()
  const [, ...standbys] = postgres.servers
  const secret = randomBytes(32).toString('hex')
  const nodes = []
  for (const [index, standby] of standbys.entries()) {
    const network = networks[index]
    const env = {
      ...quiet,
      DATABASE_URL: `postgres://postgres@${network.outside}:${postgres.primary.port}/postgres`,
      BASALT_ADOPT_DATABASE: '1',
      PGRST_DB_READ_URIS: standby.uri(),
      JWT_SECRET: secret,
      NATS_URL: nats.urlAt(network.outside),
    }
    const dataDir = path.join(folder, String(index))
    const project = path.resolve(import.meta.dirname, '../../tests/projects/notes')
    nodes.push(running.add(await Server.start({ binary, dataDir, project, env, network })))
  }
  await postgres.primary
    .sql(`create table public.numbers (id bigint primary key, label text not null);
    insert into public.numbers select n, 'number ' || n from generate_series(1, ${ROWS}) n;
    create table public.events (id bigint generated always as identity primary key, label text not null);
    grant select on public.numbers to anon;
    grant insert on public.events to anon;
    analyze public.numbers;
    notify pgrst`)
  // Until the standbys have it, and the nodes have read the schema again.
  await new Promise((resolve) => setTimeout(resolve, 3000))
  return { postgres, nodes }
}

function reading({ access: { anonKey } }) {
  return [{ path: `/rest/v1/numbers?id=eq.{1..${ROWS}}`, headers: { apikey: anonKey } }]
}

function writing({ access: { anonKey } }) {
  const headers = { apikey: anonKey, 'content-type': 'application/json' }
  return [{ method: 'POST', path: '/rest/v1/events', headers, body: '{"label":"event {seq}"}' }]
}

/** Measures the processor time of one request of a kind, where nothing is bounded. */
async function costs(postgres, node, { seconds }) {
  heading('Processor time of a request, µs')
  const lines = []
  for (const [name, requests] of [
    ['a row read by its key', reading(node)],
    ['a row added', writing(node)],
  ]) {
    const before = times(postgres, node)
    const { asked, per_second } = await load(node.access.url, requests, {
      connections: CONNECTIONS,
      seconds,
    })
    const after = times(postgres, node)
    const each = after.map((time, index) => figure((time - before[index]) / asked))
    lines.push([name, ...each, figure(per_second)])
  }
  table(['', 'node', 'primary', 'its standby', 'requests/s'], lines)
}

function times(postgres, node) {
  const [primary, standby] = [postgres.primary.pid, postgres.standby.pid].map(treeProcessorTime)
  return [processorTime(node.process.pid), primary, standby]
}

/** Broadcasts to sockets of the node of the one who sends, and of another one. */
async function broadcasts([one, two], { seconds }) {
  heading(`Broadcasts to ${LISTENERS} sockets, 100 messages/s`)
  const lines = []
  for (const [name, sender] of [
    ['at the same node', two],
    ['at another node, target p99 5', one],
  ]) {
    const before = [one, two].map((node) => processorTime(node.process.pid))
    const figures = await sockets(
      ...[address(two), '--sender', address(sender), '--sockets', LISTENERS, '--seconds', seconds],
      ...['--join', join(), '--message', message, '--bytes', 192, '--rate', 100],
    )
    const after = [one, two].map((node) => processorTime(node.process.pid))
    const cost = (after[0] - before[0] + after[1] - before[1]) / figures.received
    const { p50_milliseconds, p99_milliseconds, expected, received } = figures
    const cells = [p50_milliseconds, p99_milliseconds, cost].map(figure)
    lines.push([name, ...cells, expected - received])
  }
  table(['', 'p50 ms', 'p99 ms', 'µs of processor each', 'lost'], lines)
}

/** Reads by key through one node, two, and so on. */
async function reads(nodes, { seconds, rounds }) {
  heading(`Reads by key, ${SHARE} of a processor for each node with its standby`)
  const lines = []
  const ratios = new Map()
  for (let round = 0; round < rounds; round += 1) {
    let alone = 0
    for (let count = 1; count <= nodes.length; count += 1) {
      const loads = nodes
        .slice(0, count)
        .map((node) => load(node.access.url, reading(node), { connections: CONNECTIONS, seconds }))
      const each = (await Promise.all(loads)).map(({ per_second }) => per_second)
      const sum = each.reduce((total, one) => total + one, 0)
      if (count === 1) alone = sum
      const ratio = sum / alone / count
      ratios.set(count, [...(ratios.get(count) ?? []), ratio])
      lines.push([count, figure(sum), ratio.toFixed(2)])
    }
  }
  table(['nodes', 'reads/s', 'of as many times one node'], lines)
  table(
    ['nodes', 'median, target 0.9'],
    [...ratios].map(([count, values]) => [count, median(values).toFixed(2)]),
  )
}
