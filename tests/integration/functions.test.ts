import { on, once } from 'node:events'

import { FunctionRegion } from '@supabase/supabase-js'
import { describe, expect, inject, test } from 'vitest'
import { WebSocket } from 'ws'

import { invoke, service, visitor } from './clients.ts'

/** Opens a WebSocket to a function, and its received messages. */
async function open(path: string) {
  const { url, anonKey } = inject('access')
  const headers = { authorization: `Bearer ${anonKey}` }
  const socket = new WebSocket(`${url.replace('http', 'ws')}/functions/v1/${path}`, 'chant', {
    headers,
  })
  const messages = on(socket, 'message')
  const next = async () => {
    const [data, isBinary] = ((await messages.next()).value ?? []) as [Buffer, boolean]
    return isBinary ? data : data.toString()
  }
  await once(socket, 'open')
  return { socket, next }
}

/** What the function `caller` can read of the tables. */
interface TableCounts {
  headlines: number
  leads: number | string
}

/** The result of the function `database`. */
interface DatabaseResult {
  ofPostgres: { database: string; headlines: number }
  ofPg: DatabaseResult['ofPostgres']
}

// The functions below integration/functions have to be deployed on a server that the tests do not start themselves.
describe.skipIf(inject('own') === null)('the stock functions client', () => {
  const client = visitor()

  test('names a region', async () => {
    const { data } = await invoke(client, 'echo', { region: FunctionRegion.EuCentral1, body: {} })
    expect(data).toMatchObject({ region: 'eu-central-1', forced: 'eu-central-1' })
  })

  test('does not see what its caller notes as only proxies may', async () => {
    const { data } = await invoke<Record<string, string>>(client, 'echo/headers', {
      headers: {
        'x-real-ip': '203.0.113.7',
        'x-forwarded-for': '203.0.113.7',
        'x-forwarded-host': 'evil.example',
        forwarded: 'for=203.0.113.7;host=evil.example',
        'x-of-the-app': 'kept',
      },
    })
    expect(data).toMatchObject({
      'x-real-ip': '127.0.0.1',
      'x-forwarded-for': '127.0.0.1',
      'x-of-the-app': 'kept',
    })
    expect(Object.keys(data ?? {})).not.toContain('forwarded')
    expect(JSON.stringify(data)).not.toContain('evil.example')
  })

  test('can read in a browser that there is no such function', async () => {
    const { url } = inject('access')
    const response = await fetch(`${url}/functions/v1/nobody-has-this`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://site.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,x-header-of-tomorrow',
      },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-headers')).toContain('x-header-of-tomorrow')
  })

  test('meets a function that imports from the registry of JSR', async () => {
    const { data, error } = await invoke(client, 'packaged', { body: { name: 'Ada' } })
    expect(error).toBeNull()
    expect(data).toEqual({ mapped: 'good day Ada', named: 'good day Ada' })
  })

  test('meets a function that asks the database with clients of npm', async () => {
    const { data, error } = await invoke<DatabaseResult>(client, 'database')
    expect(error).toBeNull()
    expect(data?.ofPostgres).toMatchObject({ database: 'postgres' })
    expect(data?.ofPostgres.headlines).toBeGreaterThan(0)
    expect(data?.ofPg).toEqual(data?.ofPostgres)
  })

  test('meets a function that uses the stock client as its caller', async () => {
    const asVisitor = await invoke<TableCounts>(client, 'caller')
    expect(asVisitor.error).toBeNull()
    expect(asVisitor.data).toMatchObject({ leads: '42501' })
    expect(asVisitor.data?.headlines).toBeGreaterThan(0)
    const asService = await invoke<TableCounts>(service(), 'caller')
    expect(asService.data?.leads).toBeTypeOf('number')
  })
})

describe.skipIf(inject('own') === null)('a WebSocket to a function', () => {
  test('carries messages both ways until the function closes it', async () => {
    const { socket, next } = await open('socket?name=Ada')
    expect(socket.protocol).toBe('chant')
    expect(await next()).toBe('hello Ada')
    socket.send('goal')
    expect(await next()).toBe('goal')
    const large = Buffer.alloc(300_000, 7)
    socket.send(large)
    expect(await next()).toEqual(large)
    socket.send('close')
    const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
    expect([code, reason.toString()]).toEqual([4001, 'as you wish'])
  })
})
