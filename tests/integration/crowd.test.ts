import { once } from 'node:events'
import { type Socket } from 'node:net'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { dial, head, write } from '../support/raw.ts'
import { Server } from '../support/server.mjs'
import { wrapBinary, type WrappedBinary } from '../support/wrapped.ts'

/** A limit on open files that leaves 44 connections: the files for Postgres and the log are reserved first. */
const files = 300
const places = 44

describe.skipIf(inject('own') === null)('a server whose places are all taken', () => {
  let server: Server
  let few: WrappedBinary
  const crowd: Socket[] = []

  beforeAll(async () => {
    few = await wrapBinary((binary) => `ulimit -n ${String(files)}; exec ${binary} "$@"`)
    server = await Server.start({ binary: few.binary, only: ['rest'] })
  })

  afterAll(async () => {
    for (const socket of crowd) socket.destroy()
    await few.remove()
  })

  const read = () => {
    const { url, anonKey } = server.access
    return fetch(`${url}/rest/v1/faqs?limit=1`, {
      headers: { apikey: anonKey, connection: 'close' },
    })
  }

  /** Opens three times as many connections as the server allows, each of which sends `words`. */
  async function fill(words: string) {
    for (let count = 0; count < 3 * places; count++) {
      const socket = await dial(server.access.url)
      socket.on('error', () => undefined)
      if (words) await write(socket, words).catch(() => undefined)
      crowd.push(socket)
    }
  }

  test('has one for who asks, though others say nothing, or half of something', async () => {
    for (const words of ['', 'GET / HTTP/1.1\r\nX: a', 'PRI * HTTP']) {
      await fill(words)
      for (let times = 0; times < 10; times++) expect((await read()).status).toBe(200)
    }
  })

  test('has one for who asks, though others have asked once and stay', async () => {
    const { url, anonKey } = server.access
    for (let count = 0; count < 3 * places; count++) {
      const socket = await dial(url)
      socket.on('error', () => undefined)
      await write(socket, head('GET', `${url}/rest/v1/faqs?limit=1`, { apikey: anonKey }))
      await once(socket, 'data')
      crowd.push(socket)
    }
    for (let times = 0; times < 10; times++) expect((await read()).status).toBe(200)
  })
})
