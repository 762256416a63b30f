import { group } from '../../case.ts'
import { partly, some } from '../../match.ts'

export const object = group('storage.object', {
  title: 'Objects',
  source: 'https://supabase.com/docs/guides/storage/uploads/standard-uploads',
  needs: ['service'],
})

const bytes = new TextEncoder().encode('conformance')

object.case('upload', 'an upload is downloaded byte for byte', async (t) => {
  const bucket = await t.bucket()
  const files = t.service.storage.from(bucket)
  const { data, error } = await files.upload('a/b.txt', bytes, { contentType: 'text/plain' })
  t.data({ data, error }, partly({ id: some.uuid, fullPath: `${bucket}/a/b.txt` }))
  const read = await files.download('a/b.txt')
  t.equal(await read.data?.text(), 'conformance')
})

object.case(
  'upload.twice',
  'a second upload to the same name is refused without upsert',
  async (t) => {
    const bucket = await t.bucket()
    await t.post(`object/${bucket}/a.txt`, bytes, { as: 'service' }).is(200)
    await t
      .post(`object/${bucket}/a.txt`, bytes, { as: 'service' })
      .has(400, { statusCode: '409', error: 'Duplicate' })
  },
)

object.case(
  'public',
  'an object of a public bucket needs no key',
  { source: 'https://supabase.com/docs/guides/storage/buckets/fundamentals' },
  async (t) => {
    const bucket = await t.bucket({ public: true })
    await t.prepare('POST', `/storage/v1/object/${bucket}/a.txt`, bytes)
    await t.get(`object/public/${bucket}/a.txt`, { as: 'nobody' }).bytes(200, bytes)
  },
)

object.case(
  'signed',
  'a signed URL gives a private object',
  { source: 'https://supabase.com/docs/guides/storage/serving/downloads' },
  async (t) => {
    const bucket = await t.bucket()
    await t.prepare('POST', `/storage/v1/object/${bucket}/a.txt`, bytes)
    const { data, error } = await t.service.storage.from(bucket).createSignedUrl('a.txt', 60)
    t.equal(error, null)
    await t.get(data?.signedUrl ?? '', { as: 'nobody' }).bytes(200, bytes)
  },
)
