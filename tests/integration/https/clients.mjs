// What the stock clients do over HTTPS: node clients.mjs URL ANON_KEY SERVICE_KEY SUBJECT. Prints a report as JSON.
// Node.js trusts a certificate of one's own by the variable NODE_EXTRA_CA_CERTS alone, which it reads when it starts.
import { createHash, randomBytes } from 'node:crypto'

import { createClient } from '@supabase/supabase-js'
import { Upload } from 'tus-js-client'
import WebSocket from 'ws'

const [url = '', anonKey = '', serviceKey = '', subject = ''] = process.argv.slice(2)
const bucket = 'over-https'
const bytes = randomBytes(5_000_000)

/** Returns the stock client with a key. */
function connect(/** @type {string} */ key) {
  return createClient(url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    // Node.js 20 has no WebSocket of its own.
    realtime: { transport: /** @type {any} */ (WebSocket) },
  })
}

/** Returns the digest of `content`. */
function digest(/** @type {Uint8Array} */ content) {
  return createHash('sha256').update(content).digest('hex')
}

/** Joins a channel with two clients; one of them sends a message to the other. */
async function realtime() {
  const [listener, speaker] = [connect(anonKey), connect(anonKey)]
  const [hearing, speaking] = [listener.channel('street'), speaker.channel('street')]
  const join = (/** @type {typeof hearing} */ channel) =>
    new Promise((resolve, reject) => {
      channel.subscribe((status, error) => {
        if (status === 'SUBSCRIBED') resolve(status)
        else reject(error ?? new Error(status))
      })
    })
  const heard = new Promise((resolve) => {
    hearing.on('broadcast', { event: 'call' }, ({ payload }) => resolve(payload))
  })
  const joined = await Promise.all([join(hearing), join(speaking)])
  const sent = await speaking.send({ type: 'broadcast', event: 'call', payload: { word: 'ahoy' } })
  const report = { joined, sent, heard: await heard }
  await Promise.all([listener.removeAllChannels(), speaker.removeAllChannels()])
  return report
}

/** Uploads an object in chunks, and downloads it by a signed URL. */
async function objects() {
  const client = connect(serviceKey)
  const { error } = await client.storage.createBucket(bucket)
  if (error) throw error
  /** @type {number[]} */
  const chunks = []
  /** @type {string | null} */
  const place = await new Promise((resolve, reject) => {
    const upload = new Upload(bytes, {
      endpoint: `${url}/storage/v1/upload/resumable`,
      retryDelays: null,
      headers: { authorization: `Bearer ${serviceKey}` },
      chunkSize: 2_000_000,
      metadata: { bucketName: bucket, objectName: 'film.mp4', contentType: 'video/mp4' },
      onChunkComplete: (size) => chunks.push(size),
      onError: reject,
      onSuccess: () => resolve(upload.url),
    })
    upload.start()
  })
  const { data: signed } = await client.storage.from(bucket).createSignedUrl('film.mp4', 60)
  const response = await fetch(signed?.signedUrl ?? '')
  const downloaded = new Uint8Array(await response.arrayBuffer())
  return {
    place,
    chunks,
    signed: signed?.signedUrl,
    status: response.status,
    type: response.headers.get('content-type'),
    isSame: digest(downloaded) === digest(bytes),
  }
}

/** Reads the events of a function; asks for the second one when it has the first. */
async function events() {
  const { functions } = connect(anonKey)
  const { data: response, error } = await functions.invoke('events', { method: 'GET' })
  if (error) throw error
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  /** @type {string[]} */
  const pieces = []
  for (const next of ['next', 'end']) {
    pieces.push(decoder.decode((await reader.read()).value))
    await functions.invoke(`events/${next}`)
  }
  const { done } = await reader.read()
  return { type: response.headers.get('content-type'), pieces, done }
}

const subjects = { realtime, objects, events }
console.log(JSON.stringify(await subjects[/** @type {keyof typeof subjects} */ (subject)]()))
// The clients' timers would keep the process for ten seconds.
process.exit()
