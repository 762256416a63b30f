import { createHash, createHmac } from 'node:crypto'

import type { PendingResponse } from '../../raw-response.ts'
import type { Context } from '../../context.ts'
import type { Target } from '../../target.ts'

/** What a request of the S3 protocol is made of. */
interface S3Request {
  query?: Record<string, string>
  /** Those that begin with `x-amz-` are signed. */
  headers?: Record<string, string>
  body?: Uint8Array<ArrayBuffer>
  /** The header `x-amz-content-sha256`, by default the hash of the body. */
  payload?: string
  /** Makes a body of pieces, each signed after the one before, the first after the signature of the request. */
  pieces?: (signer: Signer, seed: string) => Uint8Array<ArrayBuffer>
  /** Keys other than the target's. */
  keys?: { accessKeyId: string; secretAccessKey: string }
}

/** What a signature is made with: the moment, the scope, and the key that is derived for it. */
export interface Signer {
  /** As `20260102T030405Z`. */
  moment: string
  scope: string
  accessKeyId: string
  seal: (text: string) => string
}

/** The hash of no bytes. */
export const emptyHash = sha256('')

/** Sends a request, signed in its header; the path is below `/storage/v1/s3`. */
export function s3(
  t: Context,
  method: string,
  path: string,
  request: S3Request = {},
): PendingResponse {
  const { query = {}, headers = {}, body, payload, keys, pieces } = request
  const signer = signerOf(t.target, new Date(), keys)
  const own: Record<string, string> = {
    'x-amz-content-sha256': payload ?? sha256(body ?? ''),
    'x-amz-date': signer.moment,
  }
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith('x-amz-')) own[name] = value
  }
  const signed = { ...own, host: new URL(t.target.url).host }
  const seal = signature(t.target, signer, method, path, query, signed)
  const fields = [
    `Credential=${signer.accessKeyId}/${signer.scope}`,
    `SignedHeaders=${Object.keys(signed).sort().join(';')}`,
    `Signature=${seal}`,
  ]
  const sent = pieces ? pieces(signer, seal) : body
  return t.http(method, urlOf(path, query), {
    as: 'nobody',
    headers: { ...headers, ...own, authorization: `AWS4-HMAC-SHA256 ${fields.join(', ')}` },
    ...(sent ? { body: sent } : {}),
  })
}

/** Returns a URL that is signed in its query, good for `seconds` from `date`. */
export function presigned(
  t: Context,
  method: string,
  path: string,
  {
    seconds = 60,
    date = new Date(),
    query = {},
  }: { seconds?: number; date?: Date; query?: Record<string, string> } = {},
): string {
  const signer = signerOf(t.target, date)
  const full: Record<string, string> = {
    ...query,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${signer.accessKeyId}/${signer.scope}`,
    'X-Amz-Date': signer.moment,
    'X-Amz-Expires': String(seconds),
    'X-Amz-SignedHeaders': 'host',
  }
  const headers = { host: new URL(t.target.url).host }
  const seal = signature(t.target, signer, method, path, full, headers, 'UNSIGNED-PAYLOAD')
  return urlOf(path, { ...full, 'X-Amz-Signature': seal })
}

/** Returns a signer for the target's keys. */
export function signerOf(target: Target, date: Date, keys?: S3Request['keys']): Signer {
  const { accessKeyId, secretAccessKey } = keys ??
    target.s3 ?? { accessKeyId: '', secretAccessKey: '' }
  const moment = date.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const scope = `${moment.slice(0, 8)}/${target.s3?.region ?? ''}/s3/aws4_request`
  let key: string | Buffer = `AWS4${secretAccessKey}`
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest()
  return {
    moment,
    scope,
    accessKeyId,
    seal: (text) => createHmac('sha256', key).update(text).digest('hex'),
  }
}

/** Returns the SHA-256 of a text or of bytes, in hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** Returns a document of XML that has all these parts, given as regular expressions, and none of the others. */
export function xml(parts: string[], others: string[] = []): RegExp {
  const there = parts.map((part) => `(?=.*${part})`)
  const absent = others.map((part) => `(?!.*${part})`)
  return new RegExp(`^<\\?xml ${[...there, ...absent].join('')}`, 's')
}

/** Returns the document of an error. */
export function s3Problem(code: string): RegExp {
  return xml(['<Error', `<Code>${code}</Code>`, '<Message>'])
}

function signature(
  target: Target,
  signer: Signer,
  method: string,
  path: string,
  query: Record<string, string>,
  headers: Record<string, string>,
  payload = headers['x-amz-content-sha256'] ?? '',
): string {
  const names = Object.keys(headers).sort()
  const request = [
    method,
    `${new URL(target.url).pathname.replace(/\/$/, '')}/storage/v1/s3${escaped(path, true)}`,
    queryOf(query),
    ...names.map((name) => `${name}:${headers[name]?.trim() ?? ''}`),
    '',
    names.join(';'),
    payload,
  ].join('\n')
  return signer.seal(['AWS4-HMAC-SHA256', signer.moment, signer.scope, sha256(request)].join('\n'))
}

function urlOf(path: string, query: Record<string, string>): string {
  const text = queryOf(query)
  return `/storage/v1/s3${escaped(path, true)}${text === '' ? '' : `?${text}`}`
}

function queryOf(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .sort()
    .join('&')
}

/** Escapes all but the unreserved characters, as the signature demands; slashes stay in paths. */
function escaped(text: string, isPath = false): string {
  const all = encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return isPath ? all.replaceAll('%2F', '/') : all
}
