import type { Context } from '../../context.ts'
import type { Matcher } from '../../match.ts'

/** Where the storage service's source is, for what no guide says. */
export const service = 'https://github.com/supabase/storage/blob/master/src'

/** What the guide says of each code in the body of an error. */
export const errorCodes = 'https://supabase.com/docs/guides/storage/debugging/error-codes'

/** Returns the bytes of a text. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

/** Returns an upload as a form: fields such as `cacheControl`, `metadata` and `contentType`, then the file. */
export function form(
  content: string | Uint8Array<ArrayBuffer>,
  type: string,
  fields: Record<string, string> = {},
): FormData {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  body.append('', new Blob([content], { type }))
  return body
}

/** Stores an object with the service key, as a part of the set-up. */
export async function store(
  t: Context,
  bucket: string,
  name: string,
  body: string | Uint8Array<ArrayBuffer> | FormData = 'conformance',
): Promise<void> {
  const path = name.split('/').map(encodeURIComponent).join('/')
  await t.prepare('POST', `/storage/v1/object/${bucket}/${path}`, body)
}

/** Makes a bucket with objects of these names. */
export async function bucketOf(
  t: Context,
  names: readonly string[],
  attributes: Record<string, unknown> = {},
): Promise<string> {
  const bucket = await t.bucket(attributes)
  // One after the other, so that the order of their times is known.
  for (const name of names) await store(t, bucket, name)
  return bucket
}

/** Returns the body of an error of the service. */
export function problem(
  statusCode: number,
  error: string | Matcher,
  message: string | RegExp | Matcher,
  code: string | RegExp | Matcher = error,
): Record<string, unknown> {
  return { statusCode: String(statusCode), error, message, code }
}

/** What an object that is not there, or that the caller may not see, gets. */
export const noSuchKey = problem(404, 'not_found', 'Object not found', 'NoSuchKey')

/** What a bucket that is not there, or that the caller may not see, gets. */
export const noSuchBucket = problem(404, 'Bucket not found', 'Bucket not found', 'NoSuchBucket')

/** What a policy refuses a new object or bucket with. */
export const refused = problem(
  403,
  'Unauthorized',
  /^new row violates row-level security policy/,
  'AccessDenied',
)
