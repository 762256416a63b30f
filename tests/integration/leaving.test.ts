import { once } from 'node:events'

import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { dial, exchange, head, write } from '../support/raw.ts'
import { psql } from '../support/server.mjs'
import { invoke, service } from './clients.ts'

const own = inject('own')

const tables = `
  create table public.left_behind (id bigint generated always as identity, said text not null);
  grant all on public.left_behind to service_role;
  create function public.say_late(said text) returns void language sql as
    $$ select pg_sleep(1); insert into public.left_behind (said) values (said) $$;
  notify pgrst, 'reload schema'`

describe.skipIf(own === null)('a client that leaves', () => {
  const { url, serviceKey } = inject('access')
  const instance = own?.instance ?? { binary: '', dataDir: '', project: '' }

  beforeAll(async () => {
    await psql(instance, tables)
    const probe = head('GET', `${url}/rest/v1/left_behind`, { ...headers, connection: 'close' })
    await vi.waitFor(async () => {
      expect(await exchange(url, [probe])).toMatch(/^HTTP\/1.1 200 /)
    }, 20_000)
  })

  afterAll(async () => {
    await psql(instance, 'drop function public.say_late; drop table public.left_behind')
  })

  const headers = {
    apikey: serviceKey,
    authorization: `Bearer ${serviceKey}`,
    'content-type': 'application/json',
  }

  /** Sends a request and closes the connection without reading the response. */
  async function leave(path: string, body: string, announced = body.length) {
    const socket = await dial(url)
    const length = { ...headers, 'content-length': String(announced) }
    await write(socket, head('POST', `${url}${path}`, length) + body)
    socket.destroy()
    await once(socket, 'close')
  }

  const rowCount = (what: string) =>
    psql(instance, `select count(*) from public.left_behind where said = '${what}'`)

  test('has its rows written', async () => {
    for (let times = 0; times < 50; times++) await leave('/rest/v1/left_behind', '{"said":"row"}')
    await expect.poll(() => rowCount('row')).toBe('50')
  })

  test('has its function of the database run to the end', async () => {
    for (let times = 0; times < 3; times++) await leave('/rest/v1/rpc/say_late', '{"said":"late"}')
    await expect.poll(() => rowCount('late')).toBe('3')
  })

  test('writes nothing that it has not sent whole', async () => {
    const half = '{"said":"half"}'
    await leave('/rest/v1/left_behind', half, half.length + 10)
    const chunked = { ...headers, 'transfer-encoding': 'chunked' }
    const socket = await dial(url)
    const chunk = `${half.length.toString(16)}\r\n${half}\r\n`
    await write(socket, head('POST', `${url}/rest/v1/left_behind`, chunked) + chunk)
    socket.destroy()
    await leave('/rest/v1/left_behind', '{"said":"after"}')
    await expect.poll(() => rowCount('after')).toBe('1')
    expect(await rowCount('half')).toBe('0')
  })

  test('has its user made and its function called', async () => {
    const email = 'leaver@example.com'
    await leave('/auth/v1/admin/users', JSON.stringify({ email, email_confirm: true }))
    const users = async () => (await service().auth.admin.listUsers({ perPage: 1000 })).data.users
    const known = async () => (await users()).some((user) => user.email === email)
    await expect.poll(known).toBe(true)

    await leave('/functions/v1/echo/remember', '{"left":true}')
    const remembered = async () => (await invoke(service(), 'echo/remembered')).data
    await expect.poll(remembered).toEqual({ left: true })
  })

  test('gets its response if it closes only its writing side', async () => {
    const read = head('GET', `${url}/rest/v1/left_behind?limit=0`, headers)
    expect(await exchange(url, [read])).toMatch(/^HTTP\/1.1 200 [^]*\[\]$/)
    const body = '{"said":"all"}'
    const length = { ...headers, 'content-length': String(body.length) }
    const call = head('POST', `${url}/rest/v1/rpc/say_late`, length)
    expect(await exchange(url, [call, body])).toMatch(/^HTTP\/1.1 204 /)
    for (const path of ['auth/v1/settings', 'storage/v1/status', 'functions/v1/echo']) {
      const request = head('GET', `${url}/${path}`, headers)
      expect(await exchange(url, [request])).toMatch(/^HTTP\/1.1 200 /)
    }
  })
})
