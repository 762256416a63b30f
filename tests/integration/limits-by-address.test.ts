import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { run } from '../support/raw.ts'
import { Server } from '../support/server.mjs'
import { wrapBinary, type WrappedBinary } from '../support/wrapped.ts'
import { there } from './auth/users.ts'

/** A network of its own, with addresses that are for documentation (RFC 5737, RFC 3849). */
const network = `basalt-${String(process.pid)}`
const here = '192.0.2.1'
const addresses = ['192.0.2.1/32', '192.0.2.7/32', '192.0.2.8/32'].concat(
  ['2001:db8:1::1', '2001:db8:7::7', '2001:db8:7::8', '2001:db8:8::8'].map((ip) => `${ip}/128`),
)

const ip = (...args: string[]) => run('ip', args)
const isOwn = inject('own') !== null
const isThere =
  isOwn &&
  (await ip('netns', 'add', network).then(
    () => true,
    () => false,
  ))
if (isOwn && !isThere) {
  console.warn('limits by address are not tested: this needs root and iproute2, to make a network')
}

/** The requests that upstream accepts of one caller at once. */
const burst = 30

// A machine's own calls are not counted, so that the callers need other addresses.
describe.skipIf(!isThere)('limits that count by address', () => {
  let server: Server
  let inside: WrappedBinary
  let port: string

  beforeAll(async () => {
    await ip('-n', network, 'link', 'set', 'lo', 'up')
    // Addresses of IPv6 would wait until it is known that nobody else has them.
    for (const address of addresses)
      await ip('-n', network, 'addr', 'add', address, 'dev', 'lo', 'nodad')
    inside = await wrapBinary((binary) => `exec ip netns exec ${network} ${binary} "$@"`)
    server = await Server.start({
      binary: inside.binary,
      only: ['rest', 'auth'],
      env: { BASALT_HOST: '::' },
    })
    port = new URL(server.access.url).port
  })

  afterAll(async () => {
    await inside.remove()
    await ip('netns', 'delete', network)
  })

  /** Makes `times` calls from `address`, and returns their statuses one after the other. */
  async function call(address: string, times: number, headers: string[] = []) {
    // The range makes one run of curl send many requests. Brackets of an address need backslashes.
    const host = address.includes(':') ? '\\[2001:db8:1::1\\]' : here
    const range = `token=none&type=signup&n=[1-${String(times)}]`
    const target = `http://${host}:${port}/auth/v1/verify?${range}`
    const flags = ['-sS', '-o', '/dev/null', '-w', '%{http_code}\n', '--interface', address]
    const sent = headers.flatMap((header) => ['-H', header])
    const { stdout } = await ip('netns', 'exec', network, 'curl', ...flags, ...sent, target)
    return stdout.trim().split('\n')
  }

  const refusalCount = (statuses: string[]) => statuses.filter((status) => status === '429').length

  test('stop one caller and no other', async () => {
    const statuses = await call('192.0.2.7', burst + 5)
    expect(statuses).toHaveLength(burst + 5)
    // On a slow machine some of the allowance may have come back meanwhile.
    expect(refusalCount(statuses.slice(0, burst))).toBe(0)
    expect(refusalCount(statuses)).toBeGreaterThan(0)
    expect(refusalCount(await call('192.0.2.8', 1))).toBe(0)
    const disguised = [
      'X-Forwarded-For: 203.0.113.9',
      'X-Real-IP: 203.0.113.9',
      'Forwarded: for=203.0.113.9',
    ]
    expect(refusalCount(await call('192.0.2.7', 2, disguised))).toBeGreaterThan(0)
  })

  test('count the network of an IPv6 address', async () => {
    expect(refusalCount(await call('2001:db8:7::7', burst + 5))).toBeGreaterThan(0)
    expect(refusalCount(await call('2001:db8:7::8', 2))).toBeGreaterThan(0)
    expect(refusalCount(await call('2001:db8:8::8', 1))).toBe(0)
  })
})

describe.skipIf(!isOwn)('limits behind two proxies', () => {
  let server: Server

  beforeAll(async () => {
    server = await Server.start({
      only: ['rest', 'auth'],
      env: { BASALT_TRUSTED_PROXIES: '2' },
    })
  })

  /** Makes one call whose headers `X-Forwarded-For` are `lines`, as the nearer proxy passes them on. */
  async function status(...lines: string[]) {
    const headers = new Headers(lines.map((line) => ['x-forwarded-for', line] as [string, string]))
    const target = `${server.access.url}/auth/v1/verify?token=none&type=signup`
    return (await fetch(target, { headers, redirect: 'manual' })).status
  }

  /** Makes the calls one after the other, and returns how many were refused. */
  async function refusals(calls: string[][]) {
    const statuses: number[] = []
    for (const lines of calls) statuses.push(await status(...lines))
    return statuses.filter((status) => status === 429).length
  }

  const times = (call: (index: number) => string[]) =>
    Array.from({ length: burst + 5 }, (_, index) => call(index))

  test('stop one caller, whatever it notes and however its address is written', async () => {
    // The outer proxy adds the caller's address, and the inner one that of the outer.
    const notes = ['', 'unknown, ', '203.0.113.99, ', '\u00e9, ', ',,, ', '"[, ', '127.0.0.1, ']
    const written = ['203.0.113.7', '203.0.113.7:4711', '::ffff:203.0.113.7', '[203.0.113.7]:1']
    const call = (index: number) => [
      `${there(notes[index % notes.length])}${there(written[index % written.length])}, 10.0.0.2`,
    ]
    expect(await refusals(times(call))).toBeGreaterThan(0)
    expect(await refusals([['203.0.113.8, 10.0.0.2'], ['198.51.100.1, 10.0.0.3:80']])).toBe(0)
  })

  test('stop a network of IPv6, and no other', async () => {
    const call = (index: number) => {
      const own = `2001:db8:7::${index.toString(16)}`
      return [
        `2001:db8:${index.toString(16)}::1`,
        [own, `[${own}]`, `[${own}]:443`][index % 3] ?? '',
        'fd00::2',
      ]
    }
    expect(await refusals(times(call))).toBeGreaterThan(0)
    expect(await refusals([['2001:db8:8::8, fd00::2']])).toBe(0)
  })

  test('stop who leaves out a proxy by the address that is known', async () => {
    expect(await refusals(times(() => ['203.0.113.20']))).toBeGreaterThan(0)
    expect(await refusals([['203.0.113.21']])).toBe(0)
  })
})
