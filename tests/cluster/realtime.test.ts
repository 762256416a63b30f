/** Channels whose members are connected to different nodes. */
import { REALTIME_SUBSCRIBE_STATES, type RealtimeChannel } from '@supabase/supabase-js'
import { afterEach, expect, inject, test } from 'vitest'

import type { Access } from '../support/server.mjs'
import { visitor, type NotesClient } from '../support/notes.ts'
import { found, unique } from './clients.ts'

const { all, one, two } = inject('cluster')

let clients: NotesClient[] = []
afterEach(async () => {
  await Promise.all(clients.map((client) => client.removeAllChannels()))
  clients = []
})

function connect(access: Access) {
  const client = visitor(access)
  clients.push(client)
  return client
}

const joined = (channel: RealtimeChannel) =>
  new Promise<void>((resolve, reject) => {
    channel.subscribe((status, error) => {
      if (status === REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) resolve()
      else if (error) reject(error)
    })
  })

test('a broadcast reaches members at both nodes and behind the balancer', async () => {
  const name = unique('room')
  const received: string[] = []
  const channels = Object.entries({ one, two, all }).map(([at, access]) =>
    connect(access)
      .channel(name)
      .on('broadcast', { event: 'hello' }, () => received.push(at)),
  )
  await Promise.all(channels.map(joined))
  const sender = connect(two).channel(name)
  await joined(sender)
  await sender.send({ type: 'broadcast', event: 'hello', payload: {} })
  await expect.poll(() => received.toSorted()).toEqual(['all', 'one', 'two'])
})

test('each node knows who is present at the other', async () => {
  const name = unique('lobby')
  const members = Object.entries({ one, two }).map(([key, access]) =>
    connect(access)
      .channel(name, { config: { presence: { key } } })
      .on('presence', { event: 'sync' }, () => undefined),
  )
  await Promise.all(members.map(joined))
  await Promise.all(members.map((member) => member.track({})))
  const present = () => members.map((member) => Object.keys(member.presenceState()).toSorted())
  await expect.poll(present, { timeout: 5000 }).toEqual([
    ['one', 'two'],
    ['one', 'two'],
  ])
  await members[1]?.untrack()
  await expect.poll(present, { timeout: 5000 }).toEqual([['one'], ['one']])
})

test('rows that are written at one node reach clients of both', async () => {
  const ids: Record<string, string[]> = { one: [], two: [] }
  const ready = Object.entries({ one, two }).map(
    ([at, access]) =>
      new Promise<void>((resolve) => {
        connect(access)
          .channel(unique('rows'))
          .on(
            'postgres_changes',
            { event: 'INSERT', schema: 'public', table: 'notes' },
            (change) => {
              ids[at]?.push((change.new as { id: string }).id)
            },
          )
          .on('system', {}, ({ status }: { status: string }) => {
            if (status === 'ok') resolve()
          })
          .subscribe()
      }),
  )
  await Promise.all(ready)
  const written: string[] = []
  for (let n = 0; n < 50; n += 1) {
    const writer = visitor(n % 2 === 0 ? one : two)
    const { id } = found(await writer.from('notes').insert({ body: 'told' }).select('id').single())
    written.push(id)
  }
  await expect.poll(() => ids, { timeout: 10_000 }).toEqual({ one: written, two: written })
})
