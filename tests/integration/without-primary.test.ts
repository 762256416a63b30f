/** What goes on while the primary is gone and its standby is there. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { service, visitor } from '../support/notes.ts'
import { Replication } from '../support/replication.mjs'
import { Server } from '../support/server.mjs'

const credentials = { email: 'reader@example.com', password: 'correct horse battery' }

describe.skipIf(inject('own') === null)('without a primary', () => {
  let postgres: Replication
  let server: Server
  let dataDir: string

  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'basalt-without-primary-'))
    postgres = await Replication.start({ settings: { fsync: 'off' } })
    server = await Server.start({
      only: ['rest', 'auth', 'storage'],
      project: path.resolve(import.meta.dirname, '../projects/notes'),
      dataDir,
      env: {
        DATABASE_URL: postgres.url,
        PGRST_DB_READ_URIS: postgres.standby.uri(),
        BASALT_ADOPT_DATABASE: '1',
      },
    })
  })

  afterAll(async () => {
    await server.stop()
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  test('reads go on, and who signed in is known', { timeout: 120_000 }, async () => {
    const { url, anonKey } = server.access
    const [reader, admin] = [visitor(server.access), service(server.access)]
    const { data } = await reader.auth.signUp(credentials)
    expect(data.session).not.toBeNull()
    await admin.from('notes').insert({ body: 'kept' }).throwOnError()
    const stored = await admin.storage.from('private').upload('page', 'text')
    expect(stored.error).toBeNull()
    const position = 'select pg_current_wal_insert_lsn() as lsn'
    const [written] = await postgres.primary.sql(position)
    const replayed = `select pg_last_wal_replay_lsn() >= '${String(written?.lsn)}' as done`
    await expect.poll(() => postgres.standby.sql(replayed)).toEqual([{ done: true }])

    await postgres.primary.stop('SIGKILL')
    const response = await reader.auth.getUser()
    expect(response.error).toBeNull()
    expect(response.data.user?.email).toBe(credentials.email)
    const rows = await reader.from('notes').select('body').throwOnError()
    expect(rows.data).toEqual([{ body: 'kept' }])
    const object = await admin.storage.from('private').download('page')
    expect(await object.data?.text()).toBe('text')
    const signIn = await fetch(`${url}/auth/v1/token?grant_type=password`, {
      method: 'POST',
      headers: { apikey: anonKey, 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
    })
    expect(signIn.status).toBe(503)
    expect(signIn.headers.get('retry-after')).not.toBeNull()

    await postgres.promote()
    const signsIn = async () => (await reader.auth.signInWithPassword(credentials)).error
    await expect.poll(signsIn).toBeNull()
  })
})
