import { backend } from './backend'

export interface StoredFile {
  bucket: string
  path: string
}

/**
 * Reads a picture's path as the tables hold it: "bucket/path", or a bare file name, which then lies in
 * `defaultBucket`. Quotes around the value and a leading slash are dropped.
 */
export function parseStoredPath(value: string, defaultBucket: string): StoredFile {
  const path = value
    .trim()
    .replace(/^["']|["']$/g, '')
    .replace(/^\/+/, '')
  const slash = path.indexOf('/')
  return slash === -1
    ? { bucket: defaultBucket, path }
    : { bucket: path.slice(0, slash), path: path.slice(slash + 1) }
}

/**
 * The public address of a stored file, the same that `storage.from(bucket).getPublicUrl(path)` gives.
 * Full addresses are returned as they are.
 */
export function storedFileUrl(value: string, defaultBucket: string) {
  if (/^https?:\/\//i.test(value)) return value
  const { bucket, path } = parseStoredPath(value, defaultBucket)
  return encodeURI(`${backend.url}/storage/v1/object/public/${bucket}/${path}`)
}
