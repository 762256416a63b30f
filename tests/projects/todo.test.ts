// A project as the Supabase CLI makes one, with what ordinary projects have: it is served, used, typed and reset.

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { beforeAll, describe, expect, test } from 'vitest'

import { connect } from '../support/client.ts'
import { Registry } from '../support/registry.mjs'
import { Server } from '../support/server.mjs'
import type { Database } from './todo.types.ts'

const folder = import.meta.dirname
const keeper = { email: 'keeper@club.example', password: 'open sesame' }

let registry: Registry
let server: Server

beforeAll(async () => {
  registry = await Registry.start()
  const env = { NPM_CONFIG_REGISTRY: registry.url }
  server = await Server.start({ project: path.join(folder, 'todo'), env })
})

const visitor = () => connect<Database>(server.access.url, server.access.anonKey)
const service = () => connect<Database>(server.access.url, server.access.serviceKey)

/** Returns a client whose user is signed in. */
async function signedIn(credentials: { email: string; password: string }) {
  const client = visitor()
  const { error } = await client.auth.signInWithPassword(credentials)
  if (error !== null) throw error
  return client
}

/** Returns a client whose user has just signed up. */
async function newcomer(username: string) {
  const client = visitor()
  const email = `${username}@club.example`
  const { data, error } = await client.auth.signUp({
    email,
    password: 'correct horse',
    options: { data: { username } },
  })
  if (error !== null || data.user === null) throw error ?? new Error('no user')
  return { client, id: data.user.id }
}

const newName = () => `fan-${randomUUID()}`

/** Calls a function of the database with a body that is not JSON. */
async function call(name: string, contentType: string, body: string) {
  const response = await fetch(`${server.access.url}/rest/v1/rpc/${name}`, {
    method: 'POST',
    headers: { apikey: server.access.anonKey, 'content-type': contentType },
    body,
  })
  return (await response.json()) as unknown
}

describe('rows', () => {
  test('whoever signs up gets a profile from the trigger', async () => {
    const username = newName()
    const { client, id } = await newcomer(username)
    const { data } = await client.from('profiles').select('username').eq('id', id).single()
    expect(data).toEqual({ username })
  })

  test('a user made by the seed signs in and has what the seed gave', async () => {
    const client = await signedIn(keeper)
    const { data } = await client.from('todos').select('title, state, is_late').order('title')
    expect(data).toEqual([
      { title: 'Order new gloves', state: 'open', is_late: null },
      { title: 'Paint the stand', state: 'open', is_late: null },
      { title: 'Train the keepers', state: 'open', is_late: true },
    ])
  })

  test('everybody sees and counts only their own', async () => {
    const { client, id } = await newcomer(newName())
    const created = await client.from('todos').insert({ title: 'Sing' }).select('owner').single()
    expect(created.data).toEqual({ owner: id })
    expect((await client.from('todo_counts').select()).data).toEqual([
      { owner: id, state: 'open', todos: 1 },
    ])
    expect((await visitor().from('todos').select()).data).toEqual([])
  })

  test('a change of everything is refused, one with a filter is not', async () => {
    const { client } = await newcomer(newName())
    await client.from('todos').insert([{ title: 'One' }, { title: 'Two' }])
    const all = await client.from('todos').delete()
    expect(all.error).toMatchObject({ code: '21000', message: 'DELETE requires a WHERE clause' })
    const one = await client.from('todos').delete().eq('title', 'One').select('title')
    expect(one.data).toEqual([{ title: 'One' }])
  })

  test('a user is changed and deleted though the table of todos is published', async () => {
    const { client, id } = await newcomer(newName())
    await client.from('todos').insert({ title: 'Leave' })
    const done = await client.from('todos').update({ state: 'done' }).eq('title', 'Leave')
    expect(done.error).toBeNull()
    expect((await service().auth.admin.deleteUser(id)).error).toBeNull()
    expect((await service().from('todos').select().eq('owner', id)).data).toEqual([])
  })
})

describe('functions of the database', () => {
  test('with one unnamed argument', async () => {
    const { client } = await newcomer(newName())
    const { data } = await client.rpc('add_todos', [{ title: 'Clap' }, { title: 'Wave' }] as never)
    expect(data).toMatchObject([{ title: 'Clap' }, { title: 'Wave' }])
    expect(await call('first_word', 'text/plain', 'come on, you')).toBe('come')
    expect(await call('byte_count', 'application/octet-stream', 'twelve bytes')).toBe(12)
  })

  test('that use extensions unqualified', async () => {
    const login = { username: 'keeper', password: 'open sesame' }
    expect((await visitor().rpc('check_password', login)).data).toBe(true)
    const wrong = { ...login, password: 'open barley' }
    expect((await visitor().rpc('check_password', wrong)).data).toBe(false)
  })

  test('that find the nearest vectors', async () => {
    const client = await signedIn(keeper)
    const { data } = await client.rpc('match_todos', {
      query_embedding: '[1,0,0]',
      match_threshold: 0.5,
      match_count: 2,
    })
    expect(data?.map((todo) => todo.title)).toEqual(['Train the keepers', 'Order new gloves'])
  })
})

test('an edge function asks as its caller, and in SQL', async () => {
  const client = await signedIn(keeper)
  const response = await client.functions.invoke<Record<string, unknown>>('todo-digest')
  expect(response.error).toBeNull()
  expect(response.data?.mine).toBe(3)
  expect(response.data?.all).toBeGreaterThanOrEqual(3)
})

test('pictures are for those who signed in', async () => {
  const allowed = await (await signedIn(keeper)).storage.from('pictures').download('badge.png')
  expect(allowed.data?.type).toBe('image/png')
  const refusal = await visitor().storage.from('pictures').download('badge.png')
  expect(refusal.error).not.toBeNull()
})

test('the types are those of the schema', async () => {
  expect(await readFile(path.join(folder, 'todo.types.ts'), 'utf8')).toBe(await server.types())
})

// The last one, since it deletes the data of the others.
test('a reset brings the database back to its seed, and leaves the keys', async () => {
  const { client, id } = await newcomer(newName())
  expect((await client.from('todos').insert({ title: 'Stay' })).error).toBeNull()
  await server.resetDatabase()
  expect((await service().from('profiles').select('username')).data).toEqual([
    { username: 'keeper' },
  ])
  expect((await service().auth.admin.getUserById(id)).error?.code).toBe('user_not_found')
  expect((await client.auth.getUser()).error?.status).toBe(403)
  const second = await signedIn(keeper)
  expect((await second.from('todos').select('title')).data).toHaveLength(3)
  const picture = await second.storage.from('pictures').download('badge.png')
  expect(picture.error).toBeNull()
})
