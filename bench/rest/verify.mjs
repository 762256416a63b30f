import { isDeepStrictEqual } from 'node:util'

import { load } from '../lib/load.mjs'

/** The headers that must be the same, beside status and body. */
const compared = ['content-type', 'content-range']

/**
 * Sends the same reads to both servers and returns the differences, one sentence each: of the status, of the headers that
 * describe the body, and of the body: byte for byte, or as JSON where PostgREST's use of jsonb changes its formatting.
 * @param {import('./stage.mjs').Stage} stage
 * @param {import('./workloads.mjs').Workload} workload
 */
export async function differences(stage, workload) {
  const found = []
  const [request] = workload.requests(stage.token)
  for (const pick of [
    (first) => first,
    (first, last) => Math.floor((first + last) / 3),
    (_, last) => last,
  ]) {
    const question = filled(request, pick)
    const [ours, theirs] = await Promise.all([
      ask(stage.basalt, question),
      ask(stage.postgrest, question),
    ])
    for (const [what, value] of Object.entries(ours)) {
      if (value === theirs[what]) continue
      if (what === 'body' && workload.isComparedAsJson && isSameJson(value, theirs.body)) continue
      const at = firstDifference(value ?? '', theirs[what] ?? '')
      const show = (text) =>
        JSON.stringify((text ?? 'nothing').slice(Math.max(0, at - 20), at + 60))
      found.push(
        `${workload.id}: ${what} of ${question.path} differs at ${at}: ` +
          `Basalt has ${show(value)}, PostgREST ${show(theirs[what])}`,
      )
    }
  }
  return [...new Set(found)]
}

/** Asks a server each of the requests for a moment, so that a wrong status is found before anything is measured. */
export async function rehearse(peer, requests) {
  await load(peer.url, requests, { connections: 2, seconds: 0.2, warmup: 0 })
}

async function ask(peer, { method = 'GET', path, headers, body }) {
  const response = await fetch(peer.url + path, {
    method,
    headers: { ...peer.headers, ...headers, 'Accept-Encoding': 'identity' },
    body,
    signal: AbortSignal.timeout(30_000),
  })
  const comparedHeaders = Object.fromEntries(
    compared.map((name) => [name, response.headers.get(name)?.toLowerCase()]),
  )
  // Latin 1 keeps bytes apart that a decoder of UTF-8 may fold into one.
  const bytes = Buffer.from(await response.arrayBuffer()).toString('latin1')
  return { status: String(response.status), ...comparedHeaders, body: bytes }
}

/** Returns the request with each of its ranges replaced by one number of it. */
function filled(request, pick) {
  const fill = (text) =>
    text?.replaceAll(/\{(\d+)\.\.(\d+)\}/g, (_, first, last) =>
      String(pick(Number(first), Number(last))),
    )
  return { ...request, path: fill(request.path), body: fill(request.body) }
}

function isSameJson(a, b) {
  try {
    return isDeepStrictEqual(JSON.parse(a), JSON.parse(b))
  } catch {
    return false
  }
}

function firstDifference(a, b) {
  let index = 0
  while (index < a.length && a[index] === b[index]) index += 1
  return index
}
