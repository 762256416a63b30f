import { expect, test } from 'vitest'

import { visitor } from './clients.ts'

test('a public object is served with its type, its tag and its ranges', async () => {
  const { data } = visitor().storage.from('app').getPublicUrl('demo-20250514.mp4')
  const whole = await fetch(data.publicUrl)
  expect(whole.status).toBe(200)
  expect(whole.headers.get('content-type')).toBe('video/mp4')
  const size = Number(whole.headers.get('content-length'))
  expect((await whole.arrayBuffer()).byteLength).toBe(size)

  const part = await fetch(data.publicUrl, { headers: { Range: 'bytes=0-99' } })
  expect(part.status).toBe(206)
  expect(part.headers.get('content-range')).toBe(`bytes 0-99/${String(size)}`)
  expect((await part.arrayBuffer()).byteLength).toBe(100)

  const etag = whole.headers.get('etag') ?? ''
  const fresh = await fetch(data.publicUrl, { headers: { 'If-None-Match': etag } })
  expect(fresh.status).toBe(304)
})

test('a missing object is an error of the service', async () => {
  const { data } = visitor().storage.from('app').getPublicUrl('no-such-file.png')
  const answer = await fetch(data.publicUrl)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ statusCode: '404', message: 'Object not found' })
})
