/**
 * A production cluster on this machine, until Ctrl-C: node tests/cluster/run.mjs [PROJECT]. BASALT_BINARY is the program
 * to run, CLUSTER_PORT the port to reach it at.
 */
import path from 'node:path'

import { Cluster } from './cluster.mjs'

const [project] = process.argv.slice(2)
const port = Number(process.env.CLUSTER_PORT) || undefined

const stopped = new Promise((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve)
})

console.log('Starting Postgres with two standbys, NATS, an S3 store, HAProxy and two nodes …')
const cluster = await Cluster.start({ project: project && path.resolve(project), port })
try {
  print(cluster)
  await stopped
  console.log('Stopping …')
} finally {
  await cluster.stop()
}

/** @param {Cluster} cluster */
function print({ access, one, two, postgres, nats, store, balancer }) {
  const lines = {
    API: `${access.url}  (HAProxy, process ${balancer.pid})`,
    'node 1': `${one.access.url}  (process ${one.server.process.pid})`,
    'node 2': `${two.access.url}  (process ${two.server.process.pid})`,
    ...Object.fromEntries(
      postgres.servers.map((server, index) => [
        index === 0 ? 'primary' : `standby ${index}`,
        `${server.uri()}  (process ${server.pid})`,
      ]),
    ),
    NATS: `${nats.url}  (process ${nats.pid})`,
    S3: `${store.settings.STORAGE_S3_ENDPOINT}  (process ${store.pid})`,
    'anon key': access.anonKey,
    'service key': access.serviceKey,
  }
  for (const [name, value] of Object.entries(lines)) console.log(`  ${name.padEnd(12)} ${value}`)
  console.log('Ctrl-C stops everything, and removes its data.')
}
