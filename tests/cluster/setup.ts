import path from 'node:path'

import type { TestProject } from 'vitest/node'

import type { Access } from '../support/server.mjs'
import { Cluster } from './cluster.mjs'

/** The cluster of the run, as tests reach it. */
interface Addresses {
  /** Through the balancer. */
  all: Access
  /** The balancer's ports as `deploy/haproxy.cfg` has them. */
  balancer: { http: number; https: number }
  /** The nodes by themselves. */
  one: Access
  two: Access
  /** The pages with the mails that each node keeps. */
  inboxes: [string, string]
  /** The connection string of the primary's superuser. */
  databaseUrl: string
  /** And of the standbys'. */
  standbyUrls: string[]
}

declare module 'vitest' {
  export interface ProvidedContext {
    cluster: Addresses
  }
}

/** The project that all clusters of these tests serve. */
const project = path.resolve(import.meta.dirname, '../projects/notes')

/** Starts the cluster that is shared by all tests that break nothing. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const cluster = await Cluster.start({
    project,
    // As behind a content network, so that tests can say which address they come from.
    env: { BASALT_TRUSTED_PROXIES: '2' },
  })
  const { access, balancer, one, two, postgres } = cluster
  provide('cluster', {
    all: access,
    balancer: balancer.ports,
    one: one.access,
    two: two.access,
    inboxes: [one.server.inboxUrl, two.server.inboxUrl],
    databaseUrl: postgres.primary.uri(),
    standbyUrls: postgres.servers.slice(1).map((server) => server.uri()),
  })
  return () => cluster.stop()
}
