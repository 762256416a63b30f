import {
  FunctionsFetchError,
  FunctionsHttpError,
  FunctionRegion,
  FunctionsRelayError,
} from '@supabase/supabase-js'
import { describe, expect, inject, test } from 'vitest'

import { invoke, service, visitor } from './clients.ts'

/** What the function `caller` sees of the tables. */
interface Seen {
  headlines: number
  leads: number | string
}

// The functions below conformance/functions have to be deployed on a server that the tests do not start themselves.
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
    const refused = await invoke(client, 'echo/refused')
    expect(refused.error).toBeInstanceOf(FunctionsHttpError)
    const answer = refused.error?.context
    expect([answer?.status, await answer?.json()]).toEqual([422, { error: 'no such player' }])
    const missing = await invoke(client, 'nobody-has-this')
    expect(missing.error).toBeInstanceOf(FunctionsRelayError)
    expect(await missing.error?.context?.json()).toEqual({
      code: 'NOT_FOUND',
      message: 'Requested function was not found',
    })
  })

  test('gives up after its own time-out', async () => {
    const { error } = await invoke(client, 'slow', { timeout: 200 })
    expect(error).toBeInstanceOf(FunctionsFetchError)
  })

  test('meets a function that uses the stock client as its caller', async () => {
    const asVisitor = await invoke<Seen>(client, 'caller')
    expect(asVisitor.error).toBeNull()
    expect(asVisitor.data).toMatchObject({ leads: '42501' })
    expect(asVisitor.data?.headlines).toBeGreaterThan(0)
    const asService = await invoke<Seen>(service(), 'caller')
    expect(asService.data?.leads).toBeTypeOf('number')
  })
})
