import { group } from '../../case.ts'
import { partly } from '../../match.ts'

const guides = 'https://supabase.com/docs/guides/functions'

export const runtime = group('functions.runtime', {
  title: 'What functions are given',
  source: `${guides}/secrets`,
  needs: ['functions'],
  probe: async (t) => {
    t.present(await t.get('conformance-runtime/variables'))
  },
})

const names = { url: 'SUPABASE_URL', anon: 'SUPABASE_ANON_KEY', database: 'SUPABASE_DB_URL' }
const variables = { ...names, service: 'SUPABASE_SERVICE_ROLE_KEY' }
for (const [name, variable] of Object.entries(variables)) {
  runtime.case(
    `variables.${name}`,
    `${variable} is in the environment`,
    { source: `${guides}/secrets#default-secrets` },
    (t) => t.get('conformance-runtime/variables').has(200, { [name]: true }),
  )
}

const all = ['for all', 'for anon', 'for users']
const keys = { anon: ['for all', 'for anon'], service: all }
for (const [key, rows] of Object.entries(keys)) {
  runtime.case(
    `calls.${key}`,
    'a function asks the project’s own interfaces with the URL and the keys that it is given',
    { source: `${guides}/secrets#default-secrets`, needs: ['sql'] },
    (t) =>
      t.get(`conformance-runtime/roles?as=${key}`).is(
        200,
        rows.map((body) => ({ body })),
      ),
  )
}

runtime.case(
  'calls.caller',
  'a function acts for its caller with the caller’s token',
  { source: `${guides}/auth-legacy-jwt`, needs: ['sql', 'service'] },
  async (t) => {
    const user = await t.user()
    const rows = ['for all', 'for users'].map((body) => ({ body }))
    await t.get('conformance-runtime/roles?as=caller', { as: user }).is(200, rows)
  },
)

runtime.case(
  'background',
  'work that is given to EdgeRuntime.waitUntil goes on after the response',
  { source: `${guides}/background-tasks`, needs: ['sql', 'service'] },
  async (t) => {
    const key = t.unique('note')
    t.removesRows('conformance_notes', 'key', key)
    await t.get(`conformance-runtime/background?key=${key}`).text(202, 'accepted')
    const path = `/rest/v1/conformance_notes?key=eq.${key}&select=body`
    for (let n = 0; n < 30; n += 1) {
      const rows = (await t.prepare('GET', path)) as unknown as object[]
      if (rows.length > 0) break
      await t.pause(100)
    }
    await t.get(path).is(200, [{ body: 'written later' }])
  },
)

const modules: Record<string, [string, string, string]> = {
  file: ['relative', 'imported', `${guides}/development-tips`],
  map: ['mapped', 'imported', `${guides}/dependencies`],
  node: ['buffer', '6e6f6465', `${guides}/dependencies`],
}
for (const [name, [member, value, page]] of Object.entries(modules)) {
  runtime.case(
    `imports.${name}`,
    'a function imports its own files, by names of its deno.json, and modules of Node',
    { source: page },
    (t) => t.get('conformance-runtime/imports').has(200, { [member]: value }),
  )
}

runtime.case(
  'files',
  'a function writes and reads files below /tmp',
  { source: `${guides}/ephemeral-storage` },
  (t) => t.http('POST', 'conformance-runtime/file', { body: 'in a file' }).text(200, 'in a file'),
)

export const socket = group('functions.socket', {
  title: 'WebSockets of functions',
  source: `${guides}/websockets`,
  needs: ['functions'],
  probe: async (t) => {
    t.present(await t.get('conformance-open', { as: 'nobody' }))
  },
})

const frame = { topic: 'any', event: 'shout', ref: '1', payload: { word: 'Größe' } }

socket.case('text', 'a function opens a WebSocket and sends messages on it', async (t) => {
  const opened = await t.socket('conformance-open')
  opened.send(frame)
  await opened.receives(frame)
})

socket.case('many', 'messages come back in their order, large ones, too', async (t) => {
  const opened = await t.socket('conformance-open')
  for (const n of [1, 2]) opened.send({ ...frame, payload: { n, text: 'x'.repeat(100_000) } })
  for (const n of [1, 2]) await opened.receives({ topic: 'any', payload: partly({ n }) })
})

socket.case('binary', 'binary messages are handed on as they are', async (t) => {
  const opened = await t.socket('conformance-open')
  // A frame of Realtime, which the kit can read: topic, event, no metadata, bytes.
  const bytes = [4, 1, 1, 0, 0, 65, 66, 0, 255, 128]
  opened.send(new Uint8Array(bytes))
  await opened.receives({ topic: 'A', event: 'B', payload: '00ff80' })
})

socket.case('close', 'the code with which a function closes is the caller’s', async (t) => {
  const opened = await t.socket('conformance-open')
  opened.send(frame)
  await opened.receives(frame)
  opened.send('close')
  await opened.isClosed(4001)
})

socket.case(
  'refused',
  'a function that verifies tokens opens no WebSocket without one',
  { source: `${guides}/websockets#authentication` },
  (t) => t.handshake('conformance-runtime/socket').is(401),
)

socket.case(
  'token',
  'a function that verifies tokens opens a WebSocket where the header has one',
  { source: `${guides}/websockets#authentication` },
  async (t) => {
    const key = t.target.anonKey
    const headers = { apikey: key, authorization: `Bearer ${key}` }
    const opened = await t.socket('conformance-runtime/socket', headers)
    opened.send(frame)
    await opened.receives(frame)
  },
)
