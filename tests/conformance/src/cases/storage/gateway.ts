import { group } from '../../case.ts'

import { bucketOf, problem, service } from './setup.ts'

export const cors = group('storage.cors', {
  title: 'Requests from other origins',
  source: 'https://github.com/supabase/supabase/blob/master/docker/volumes/api/kong.yml',
})

const origin = 'https://app.example'
const anyOrigin = /^(\*|https:\/\/app\.example)$/

/** A request of a browser that needs a preflight. */
const preflights: [name: string, promise: string, path: string, method: string, header: string][] =
  [
    ['upload', 'a browser may upload', 'object/any/a.txt', 'POST', 'x-upsert'],
    ['update', 'a browser may replace', 'object/any/a.txt', 'PUT', 'cache-control'],
    ['delete', 'a browser may delete', 'object/any', 'DELETE', 'x-client-info'],
    ['resumable', 'a browser may send a part', 'upload/resumable/any', 'PATCH', 'upload-offset'],
  ]

for (const [name, promise, path, method, header] of preflights) {
  cors.case(`preflight.${name}`, promise, async (t) => {
    const headers = {
      ...{ origin, 'access-control-request-method': method },
      'access-control-request-headers': `authorization,apikey,${header}`,
    }
    const response = await t.http('OPTIONS', path, { as: 'nobody', headers })
    response
      .header('access-control-allow-origin', anyOrigin)
      .header('access-control-allow-methods', new RegExp(`\\*|\\b${method}\\b`))
      .header('access-control-allow-headers', new RegExp(`\\*|\\b${header}\\b`, 'i'))
    t.equal(response.status < 300, true, response.exchange)
  })
}

cors.case('response', 'a script of another origin reads the response', async (t) => {
  await t
    .get('object/public/conformance-none/a.txt', { as: 'nobody', headers: { origin } })
    .is(400)
    .header('access-control-allow-origin', anyOrigin)
})

const purging = 'https://supabase.com/docs/guides/storage/cdn/purge-cdn-cache'

export const cdn = group('storage.cdn', {
  title: 'Purging of the cache',
  source: purging,
  needs: ['service'],
})

cdn.case(
  'object',
  'the cache of an object is purged',
  { source: `${purging}#purge-a-single-object` },
  async (t) => {
    const bucket = await bucketOf(t, ['a/b.txt'])
    const response = await t.delete(`cdn/${bucket}/a/b.txt`, { as: 'service' })
    // A server without a CDN has nothing to purge.
    if (response.field('code') === 'MissingParameter') t.absent('no CDN is set up')
    t.present(response)
    response.has(200, { message: 'success' })
  },
)

cdn.case(
  'bucket',
  'the cache of a bucket is purged',
  { source: `${purging}#purge-an-entire-bucket` },
  async (t) => {
    const response = await t.delete(`cdn/${await t.bucket()}`, { as: 'service' })
    if (response.field('code') === 'MissingParameter') t.absent('no CDN is set up')
    t.present(response)
    response.has(200, { message: 'success' })
  },
)

cdn.case(
  'role',
  'only the service role purges a cache',
  { source: `${service}/http/routes/cdn/index.ts` },
  async (t) => {
    const response = await t.delete(`cdn/${await t.bucket()}/a.txt`, { as: await t.user() })
    t.present(response)
    response.is(403, problem(403, 'Unauthorized', 'Access denied: Invalid role', 'AccessDenied'))
  },
)
