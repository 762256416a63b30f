import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { Client } from '../lib/arrivals.mjs'
import { Machine } from '../lib/machine.mjs'
import { Running } from '../lib/running.mjs'
import { figure, heading, mebibytes, row, table } from '../lib/table.mjs'
import { quiet } from '../lib/quiet.mjs'
import { address, join, message, sockets } from '../realtime/sockets.mjs'
import { Server } from '../../tests/support/server.mjs'

/** The machine. */
const size = { memory: 2 ** 30, processors: 1 }
/** Sockets of realtime that are open all the time. */
const listeners = 200
/** Users that sign in. */
const users = 20
/** Downloads that run all the time while others sign in. */
const downloaders = 64
/** Sign-ins a second meanwhile. */
const signIns = 2
const password = 'correct horse battery staple'

/** The clients of a project, and the kinds of requests that they send. */
class Project {
  /** @param {Server} server */
  static async fill(server) {
    const { url, anonKey, serviceKey } = server.access
    const project = new Project(url, anonKey, serviceKey)
    await server.psql(`create table public.numbers (id bigint primary key, label text not null);
      insert into public.numbers select n, 'number ' || n from generate_series(1, 10000) n;
      create table public.events (id bigint generated always as identity primary key, label text not null);
      grant select on public.numbers to anon; grant insert on public.events to anon;
      notify pgrst`)
    await project.ask('/storage/v1/bucket', { id: 'small', name: 'small', public: true })
    const picture = await readFile(
      path.resolve(import.meta.dirname, '../../storage/experts/amara-nkwenti.webp'),
    )
    await project.put('picture.webp', picture, 'image/webp')
    await project.put('big', randomBytes(2 << 20), 'application/octet-stream')
    for (let user = 0; user < users; user += 1)
      await project.ask('/auth/v1/admin/users', {
        email: `user-${String(user)}@example.org`,
        password,
        email_confirm: true,
      })
    return project
  }

  constructor(url, anonKey, serviceKey) {
    this.url = url
    this.key = { apikey: anonKey }
    this.admin = { apikey: serviceKey, authorization: `Bearer ${serviceKey}` }
    const json = { ...this.key, 'content-type': 'application/json' }
    const some = randomBytes(64 << 10)
    const any = (/** @type {number} */ number) => Math.floor(Math.random() * number)
    /** @type {Record<string, Omit<import('../lib/arrivals.mjs').Kind, 'name'>>} */
    const kinds = {
      'the site': { weight: 4, make: () => ({ path: '/', headers: {} }) },
      'a row read': {
        weight: 40,
        make: () => ({
          path: `/rest/v1/numbers?id=eq.${String(1 + any(10_000))}`,
          headers: this.key,
        }),
      },
      'a row added': {
        weight: 10,
        make: () => ({
          method: 'POST',
          path: '/rest/v1/events',
          headers: json,
          body: '{"label":"an event"}',
        }),
      },
      'a sign-in': {
        weight: 1,
        make: () => ({
          method: 'POST',
          path: '/auth/v1/token?grant_type=password',
          headers: json,
          body: JSON.stringify({ email: `user-${String(any(users))}@example.org`, password }),
        }),
      },
      'a sign-up': {
        weight: 1,
        make: () => ({
          method: 'POST',
          path: '/auth/v1/signup',
          headers: json,
          body: JSON.stringify({ email: `${randomUUID()}@example.org`, password }),
        }),
      },
      'an upload of 64 KiB': {
        weight: 4,
        make: () => ({
          method: 'POST',
          path: `/storage/v1/object/small/${randomUUID()}`,
          headers: { ...this.admin, 'content-type': 'application/octet-stream' },
          body: some,
        }),
      },
      'a download of 2 MiB': {
        weight: 2,
        make: () => ({ path: '/storage/v1/object/public/small/big', headers: {} }),
      },
      'a picture rendered': {
        weight: 1,
        make: () => ({
          path: `/storage/v1/render/image/public/small/picture.webp?width=${String(50 + any(1000))}`,
          headers: {},
        }),
      },
      'a call of a function': {
        weight: 2,
        make: () => ({
          method: 'OPTIONS',
          path: '/functions/v1/contact-notification',
          headers: this.key,
        }),
      },
    }
    this.kinds = Object.entries(kinds).map(([name, kind]) => ({ name, ...kind }))
  }

  /** @param {string} name */
  kind(name) {
    const found = this.kinds.find((kind) => kind.name === name)
    if (!found) throw new Error(`there is no kind ${name}`)
    return found
  }

  /** @param {string} path @param {object} body */
  async ask(path, body) {
    await this.#send(path, JSON.stringify(body), 'application/json')
  }

  /** @param {string} name @param {Buffer} bytes @param {string} type */
  async put(name, bytes, type) {
    await this.#send(`/storage/v1/object/small/${name}`, bytes, type)
  }

  async #send(path, body, type) {
    const headers = { ...this.admin, 'content-type': type }
    const response = await fetch(`${this.url}${path}`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
  }
}

/**
 * Runs the whole of a server on a small machine, with more load than it can take.
 * @param {string} binary
 * @param {{ seconds: number, memory: string }} how
 */
async function small(binary, { seconds, memory }) {
  const running = new Running()
  try {
    const machine = running.add(await Machine.make('basalt-small', size))
    const env = {
      ...quiet,
      BASALT_MEMORY: memory,
      TENANT_MAX_CONCURRENT_USERS: String(listeners + 10),
      TENANT_MAX_EVENTS_PER_SECOND: '10000',
      GOTRUE_MAILER_AUTOCONFIRM: 'true',
    }
    const server = running.add(await Server.start({ binary: await machine.wrap(binary), env }))
    row('start on an empty data folder', `${String(server.startedIn)} ms`)
    memoryOf(machine, 'at rest')
    const project = await Project.fill(server)
    const client = new Client(server.access.url)
    const listening = sockets(
      ...[address(server), '--sockets', listeners, '--seconds', seconds * 4 + 10],
      ...['--join', join(), '--message', message, '--bytes', 192, '--rate', 2],
    )
    listening.catch(() => undefined)

    heading(`Everything at once, 16 requests at a time, ${String(listeners)} sockets`)
    const capacity = await client.closed(project.kinds, { connections: 16, seconds })
    outcomes(client, seconds)
    memoryOf(machine, 'under load')

    const rate = Math.round(capacity * 3)
    heading(`Three times as much: ${String(rate)} requests a second for ${String(seconds)} s`)
    await client.open(project.kinds, { rate, seconds })
    outcomes(client, seconds)
    await recovery(project)
    memoryOf(machine, 'under three times the load')

    heading(`Sign-ins (${String(signIns)} a second) while ${String(downloaders)} clients download`)
    const other = new Client(server.access.url)
    const flood = other.closed([project.kind('a download of 2 MiB')], {
      connections: downloaders,
      seconds,
    })
    await client.open([project.kind('a sign-in')], { rate: signIns, seconds: seconds - 1 })
    row('downloads', `${figure((await flood) * 2)} MiB/s`)
    outcomes(client, seconds - 1)

    heading('In the end')
    const { expected, received, p50_milliseconds, p99_milliseconds } = await listening
    row('broadcasts received', `${String(received)} of ${String(expected)}`)
    row('their delay, p50 and p99', `${figure(p50_milliseconds)}, ${figure(p99_milliseconds)} ms`)
    row('memory in use at its peak, with cached files', mebibytes(machine.peak))
    row('processes ended for want of memory', String(machine.killed))
    return machine.killed === 0
  } finally {
    await running.stop()
  }
}

/** Prints how much memory each part takes. */
function memoryOf(/** @type {Machine} */ machine, /** @type {string} */ when) {
  heading(`Memory ${when}`)
  const parts = [...machine.parts].toSorted((a, b) => b[1].bytes - a[1].bytes)
  const total = parts.reduce((sum, [, { bytes }]) => sum + bytes, 0)
  const lines = parts.map(([name, { processes, bytes }]) => [name, processes, mebibytes(bytes)])
  table(['program', 'processes', 'memory'], [...lines, ['all', '', mebibytes(total)]])
}

/** Prints what has become of the requests of each kind. */
function outcomes(/** @type {Client} */ client, /** @type {number} */ seconds) {
  const lines = [...client.outcomes].map(([name, outcome]) => {
    const others = [...outcome.statuses].filter(([status]) => !status.startsWith('2'))
    return [
      name,
      figure(outcome.served / seconds),
      figure(outcome.percentile(0.5)),
      figure(outcome.percentile(0.99)),
      others.map(([status, count]) => `${String(count)} × ${status}`).join(', ') || '–',
      outcome.silent,
    ]
  })
  table(['', 'served/s', 'p50 ms', 'p99 ms', 'not served', 'without Retry-After'], lines)
}

/** Prints how long it takes after the load until a row is read and a user signs in as on an idle server. */
async function recovery(/** @type {Project} */ project) {
  const [begin, client] = [performance.now(), new Client(project.url)]
  const kinds = ['a row read', 'a sign-in'].map((name) => project.kind(name))
  const limits = [100, 500]
  while (performance.now() - begin < 60_000) {
    const times = []
    for (const kind of kinds) {
      const at = performance.now()
      times.push((await client.send(kind)) === '200' ? performance.now() - at : Infinity)
    }
    if (times.every((time, index) => time < limits[index])) break
  }
  row('as before again after', `${figure(performance.now() - begin)} ms`)
}

const [binary] = process.argv.slice(2)
if (binary === undefined) {
  process.stderr.write('usage: bench/small BINARY\n')
  process.exit(2)
}
try {
  const seconds = Number(process.env.BENCH_SECONDS ?? 10)
  const isWhole = await small(path.resolve(binary), {
    seconds,
    memory: process.env.BASALT_MEMORY ?? 'small',
  })
  process.exit(isWhole ? 0 : 1)
} catch (error) {
  process.stderr.write(`bench: ${error.message}\n`)
  process.exit(1)
}
