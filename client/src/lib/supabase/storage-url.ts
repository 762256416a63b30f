import { squareOf, widthsOf, type PictureWidths } from '@/lib/pictures'
import { backend } from './backend'

interface StoredFile {
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

const FULL_ADDRESS = /^https?:\/\//i

function publicUrl(value: string, defaultBucket: string, route: string) {
  const { bucket, path } = parseStoredPath(value, defaultBucket)
  return encodeURI(`${backend.url}/storage/v1/${route}/public/${bucket}/${path}`)
}

/**
 * Returns the public address of a stored file, the same that `storage.from(bucket).getPublicUrl(path)` gives.
 * Full addresses are returned as they are.
 */
export function storedFileUrl(value: string, defaultBucket: string) {
  return FULL_ADDRESS.test(value) ? value : publicUrl(value, defaultBucket, 'object')
}

/** The attributes of an `img` for a stored picture: the file itself as `src`, and `srcSet` of smaller ones. */
export interface StoredPicture {
  src: string
  srcSet?: string
  sizes?: string
}

/** Returns whether the storage may render the picture: not SVG drawings, and not pictures of other hosts. */
function isRendered(value: string) {
  return !FULL_ADDRESS.test(value) && !/\.svg["']?\s*$/i.test(value)
}

/**
 * Where a backend renders pictures. Without that it has the same picture there in its own size, and does not look at the
 * query, so that the server's heads can name the same addresses.
 */
const RENDERED = backend.hasImages ? 'render/image' : 'object'

/**
 * Returns a stored picture in the widths that the page needs. The browser chooses one, and its format with the
 * server.
 */
export function storedPicture(
  value: string,
  defaultBucket: string,
  widths: PictureWidths,
): StoredPicture {
  const src = storedFileUrl(value, defaultBucket)
  if (!isRendered(value)) return { src }
  const url = publicUrl(value, defaultBucket, RENDERED)
  return { src, srcSet: widthsOf(url, widths), sizes: widths.sizes }
}

/** Returns the middle of a stored picture as a square of `side` CSS pixels. */
export function storedSquare(value: string, defaultBucket: string, side: number): StoredPicture {
  const src = storedFileUrl(value, defaultBucket)
  if (!isRendered(value)) return { src }
  return { src, srcSet: squareOf(publicUrl(value, defaultBucket, RENDERED), side) }
}
