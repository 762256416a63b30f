import { on, once } from 'node:events'

import {
  FunctionsFetchError,
  FunctionsHttpError,
  FunctionRegion,
  FunctionsRelayError,
} from '@supabase/supabase-js'
import { describe, expect, inject, test } from 'vitest'
import { WebSocket } from 'ws'

import { connect } from '../support/client.ts'
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

  test('sends and gets JSON, with any method, below the name', async () => {
    const { data, error } = await invoke(client, 'echo/deep', {
      method: 'PUT',
      body: { goals: 3 },
    })
    expect(error).toBeNull()
    expect(data).toMatchObject({ method: 'PUT', path: '/echo/deep', body: { goals: 3 } })
    const got = await invoke(client, 'echo', { method: 'GET' })
    expect(got.data).toMatchObject({ method: 'GET', body: null })
  })

  test('sends and gets text, bytes and forms', async () => {
    const text = await invoke(client, 'echo/text', { body: 'goal' })
    expect(text.data).toBe('text: goal')
    const bytes = new Uint8Array([0, 255, 13, 10])
    const blob = await invoke<Blob>(client, 'echo/blob', { body: bytes.buffer })
    expect(new Uint8Array((await blob.data?.arrayBuffer()) ?? [])).toEqual(bytes)
    const form = new FormData()
    form.append('name', 'Ada')
    form.append('file', new File(['content'], 'a.txt'))
    const sent = await invoke(client, 'echo/form', { body: form })
    expect(sent.data).toEqual({ name: 'Ada', file: 'a.txt', text: 'content' })
  })

  test('gets a stream of events', async () => {
    const { data } = await invoke<Response>(client, 'echo/events', { body: 'data: 1\n\n' })
    expect(await data?.text()).toBe('data: 1\n\n')
  })

  test('names a region', async () => {
    const { data } = await invoke(client, 'echo', { region: FunctionRegion.EuCentral1, body: {} })
    expect(data).toMatchObject({ region: 'eu-central-1', forced: 'eu-central-1' })
  })

  test('tells a refusal of the function from one of the platform', async () => {
    const refusal = await invoke(client, 'echo/refused')
    expect(refusal.error).toBeInstanceOf(FunctionsHttpError)
    const answer = refusal.error?.context
    expect([answer?.status, await answer?.json()]).toEqual([422, { error: 'no such player' }])
    const missing = await invoke(client, 'nobody-has-this')
    expect(missing.error).toBeInstanceOf(FunctionsRelayError)
    expect(await missing.error?.context?.json()).toEqual({
      code: 'NOT_FOUND',
      message: 'Requested function was not found',
    })
  })

  test('needs a token and not only a key, and sees whose refusal it is', async () => {
    const { url, anonKey } = inject('access')
    const call = (headers: Record<string, string>) =>
      fetch(`${url}/functions/v1/echo`, { method: 'POST', headers, body: '{}' })
    const opaque = 'sb_publishable_of-some-project'
    for (const [headers, code] of [
      [{ apikey: anonKey }, 'UNAUTHORIZED_NO_AUTH_HEADER'],
      [{ apikey: opaque, authorization: `Bearer ${opaque}` }, 'UNAUTHORIZED_INVALID_JWT_FORMAT'],
    ] as const) {
      const answer = await call(headers)
      expect([answer.status, answer.headers.get('sb-error-code')]).toEqual([401, code])
    }
    const stranger = connect(url, opaque)
    const { error } = await invoke(stranger, 'echo', { body: {} })
    expect(error).toBeInstanceOf(FunctionsRelayError)
    expect((await call({ authorization: `Bearer ${anonKey}` })).status).toBe(200)
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
    const answer = await fetch(`${url}/functions/v1/nobody-has-this`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://site.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,x-header-of-tomorrow',
      },
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-headers')).toContain('x-header-of-tomorrow')
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

  test('gives up after its own time-out', async () => {
    const { error } = await invoke(client, 'slow', { timeout: 200 })
    expect(error).toBeInstanceOf(FunctionsFetchError)
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

  test('is one of many beside calls', async () => {
    const sockets = await Promise.all(
      Array.from({ length: 20 }, (_, number) => open(`socket?name=${String(number)}`)),
    )
    const { error } = await invoke(visitor(), 'socket')
    expect(error?.context?.status).toBe(426)
    for (const [number, { socket, next }] of sockets.entries()) {
      expect(await next()).toBe(`hello ${String(number)}`)
      socket.close()
    }
  })

  test('needs a token as a call does', async () => {
    const { url } = inject('access')
    const socket = new WebSocket(`${url.replace('http', 'ws')}/functions/v1/socket`)
    const [, answer] = (await once(socket, 'unexpected-response')) as [
      unknown,
      { statusCode: number },
    ]
    expect(answer.statusCode).toBe(401)
    // It is an error to close a socket that was never opened.
    socket.once('error', () => undefined).terminate()
  })

  test('is closed with a reason when the function ends', async () => {
    const { socket, next } = await open('socket')
    expect(await next()).toBe('hello you')
    socket.send('crash')
    const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
    expect([code, reason.toString()]).toEqual([1011, 'the function has ended'])
  })
})
