import path from 'node:path'

import { Callgrind } from '../lib/callgrind.mjs'
import { load } from '../lib/load.mjs'
import { figure, heading, table } from '../lib/table.mjs'
import { Stage } from './stage.mjs'
import { workloads } from './workloads.mjs'

/** Seconds of load before counting begins, so that statements are prepared and caches warm; and while it goes on. */
const [warmup, counted] = [2, 3]
const connections = 4
/** What is listed of the functions, by their own instructions. */
const listed = 25

/** The purposes of instructions, by the first crate in a function's name. */
const groups = [
  ['HTTP: hyper', /\b(hyper|hyper_util|httparse|httpdate|http|http_body|http_body_util|h2)::/],
  ['tokio, mio, futures', /\b(tokio|tokio_util|mio|futures_\w+|parking_lot\w*|atomic_waker)::/],
  ['poem', /\bpoem::/],
  ['basalt, gateway, tokens', /\b(basalt|gateway|tokens)::/],
  ['rest: request', /\b(rest::request|percent_encoding|winnow|rest::body)\b/],
  ['rest: plan', /\brest::plan\b/],
  ['rest: statement', /\brest::statement\b/],
  ['rest: transaction', /\brest::(transaction|caller|freshness)\b/],
  ['rest: response, service', /\brest::/],
  ['database', /\b(database|postgres_protocol|fallible_iterator)::/],
  [
    'allocator',
    /\bmimalloc\b|^_?mi_|^_?_rust_(alloc|dealloc|realloc)|^(malloc|free|realloc|calloc)$/,
  ],
  ['memory: copy, compare, set', /^_*mem(cpy|move|cmp|set|chr)|^bcmp/],
]

/** Functions whose whole cost, with all that they call, is a step of a request. */
const steps = [
  ['connection (hyper)', /hyper::proto::h1::dispatch::Dispatcher.*>::poll_(catch|inner|loop)$/],
  ['gateway and below', /gateway::face::Face.*call::\{\{?closure/],
  ['rest and below', /rest::service::Rest.* as poem::.*call::\{\{?closure/],
  ['headers as JSON', /rest::request::HeaderSettings>?::new$/],
  ['RequestShape::of', /rest::plan_cache::shape::RequestShape>?::of$/],
  ['Request::parse', /rest::request::Request>?::parse$/],
  ['Plan::new', /rest::plan::Plan>?::new$/],
  ['Statements::new', /rest::statement::Statements>?::new$/],
  ['transaction and Postgres', /rest::transaction::Context>?::run::\{\{?closure/],
  ['Postgres', /database::Database>?::run::\{\{?closure/],
  ['response', /rest::response::success$/],
]

async function profile(binary, chosen) {
  const callgrind = new Callgrind(binary)
  try {
    const stage = await Stage.start(binary, { withPostgREST: false, measured: callgrind.binary })
    try {
      for (const workload of chosen) {
        const requests = stage.requestsFor(stage.basalt, workload)
        await load(stage.basalt.url, requests, { connections, seconds: warmup, warmup: 0 })
        let requestCount = 0
        const costs = await callgrind.during(stage.basalt.pid, async () => {
          const figures = await load(stage.basalt.url, requests, {
            connections,
            seconds: counted,
            warmup: 0,
          })
          requestCount = figures.asked
        })
        print(workload, costs, requestCount)
      }
    } finally {
      await stage.stop()
    }
  } finally {
    callgrind.remove()
  }
}

function print({ id, title }, costs, requestCount) {
  const each = (instructions) => figure(instructions / requestCount)
  const entries = [...costs]
  const own = (some) => some.reduce((sum, [, cost]) => sum + cost.own, 0)
  const all = own(entries)
  heading(`${id}: ${title}: ${each(all)} instructions per request (of ${requestCount} requests)`)
  const shares = new Map()
  for (const [name, cost] of entries) {
    const group = groupOf(name)
    shares.set(group, (shares.get(group) ?? 0) + cost.own)
  }
  const sorted = [...shares].toSorted(([, a], [, b]) => b - a)
  table(
    ['own instructions of', 'each', '%'],
    sorted.map(([group, sum]) => [group, each(sum), figure((100 * sum) / all)]),
  )
  process.stdout.write('\n')
  const inclusive = ([, pattern]) =>
    Math.max(0, ...entries.filter(([name]) => pattern.test(name)).map(([, cost]) => cost.inclusive))
  table(
    ['with all that is called', 'each'],
    steps.map((step) => [step[0], each(inclusive(step))]),
  )
  process.stdout.write('\n')
  const dearest = entries.toSorted(([, a], [, b]) => b.own - a.own).slice(0, listed)
  table(
    ['dearest functions', 'each'],
    dearest.map(([name, cost]) => [name.slice(0, 110), each(cost.own)]),
  )
}

function groupOf(name) {
  const found = groups
    .map(([group, pattern]) => [group, name.search(pattern)])
    .filter(([, at]) => at >= 0)
    .toSorted(([, a], [, b]) => a - b)
  return (
    found[0]?.[0] ?? (/\b(core|alloc|std|hashbrown)\b/.test(name) ? 'standard library' : 'others')
  )
}

const [binary, ...ids] = process.argv.slice(2)
const chosen = workloads.filter(({ id }) => (ids.length === 0 ? id === 'key' : ids.includes(id)))
if (binary === undefined || chosen.length < ids.length) {
  const names = workloads.map(({ id }) => id).join('|')
  process.stderr.write(`usage: bench/profile BINARY [${names} …]\n`)
  process.exit(2)
}
try {
  await profile(path.resolve(binary), chosen)
} catch (error) {
  process.stderr.write(`bench: ${error.message}\n`)
  process.exitCode = 1
}
