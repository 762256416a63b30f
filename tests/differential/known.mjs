import { isDeepStrictEqual } from 'node:util'

/**
 * What may differ: what PostgREST changed between the version at hand, 12.0.2, and 16, whose interface Basalt has, and
 * what Basalt does otherwise on purpose (docs/decisions/0020-postgrests-malformed-responses-are-not-copied.md).
 * @typedef {{ status: number, body: any } & Record<string, any>} Response
 * @typedef {import('./requests.mjs').Request} Request
 */

/** The words of an error, where only those changed: the code and everything else has to be the same. */
const reworded = new Set([
  // "Cannot coerce the result to a single JSON object"
  'PGRST116',
  // "Could not find the 'x' column of 'y' in the schema cache"
  'PGRST204',
  // "Invalid schema: x"
  'PGRST106',
  // What is wrong with a raised error, each part in its own words
  'PGRST121',
  // Number of parts, algorithm, cryptographic failure, each in its own words
  'PGRST301',
  // Parser libraries report differently what they expected and where.
  'PGRST100',
  // A suggested function has to be as near as 75 %.
  'PGRST202',
  // Bodies that are no array of objects are read by other functions of Postgres, each with its own words.
  '22023',
])

/**
 * Rules by which two responses to one request may differ; the first that holds explains all that differs.
 * @type {[string, (request: Request, ours: Response, theirs: Response) => boolean][]}
 */
const rules = [
  [
    'unknown relations are told before anything else',
    (request, ours) => ours.body?.code === 'PGRST205' && ours.status === 404,
  ],
  ['paths that lead nowhere have a code', (_, ours) => ours.body?.code === 'PGRST125'],
  [
    'media types are refused with 406',
    (_, ours, theirs) => both(ours, theirs, 'PGRST107', 406, 415),
  ],
  ['max-affected is new', (request) => /max-affected/.test(request.headers?.prefer)],
  ['a role that is none means 401', (_, ours, theirs) => both(ours, theirs, '22023', 401, 400)],
  [
    'zones are checked by Postgres',
    (request, ours) => /timezone/.test(request.headers?.prefer) && ours.body?.code === '22023',
  ],
  [
    'some failures of the database are no mistakes of the client',
    (_, ours, theirs) =>
      ['21000', '42P17', '53400', '54001'].some((code) => both(ours, theirs, code, 500)),
  ],
  [
    'the root takes no other methods',
    (request, ours) => request.path === '/' && ours.status === 405,
  ],
  ['is.not_null is new', (request) => /is\.not_null/i.test(request.path)],
  [
    'changes can no longer be limited',
    (request, _, theirs) => request.method !== 'GET' && theirs.body?.code === 'PGRST109',
  ],
  [
    'order= orders changed rows with spreads, and CSV of them has the right names',
    (request) => request.method === 'PATCH' && /\.\.\.|[(]/.test(request.path),
  ],
  [
    'results of functions can be filtered and ordered by what is not selected',
    (request, ours, theirs) =>
      request.path.startsWith('/rpc/') && ours.status === 200 && theirs.body?.code === '42703',
  ],
  ['the name in an error of Postgres', (_, ours, theirs) => both(ours, theirs, '42703')],
  ['full-text search of other types', (_, ours, theirs) => both(ours, theirs, '42883')],
  ['arguments by GET are read as their type', (request) => request.path.includes('takes_json')],
  [
    'aggregates of nested spreads and of JSON paths',
    (request, ours) =>
      ours.status === 200 && /\(\)/.test(request.path) && !/teams\(\)/.test(request.path),
  ],
  [
    'an embed that is there twice is told by its name',
    (_, ours, theirs) => ours.body?.code === '42712' && theirs.body?.code === '42803',
  ],
  [
    'a spread may be empty',
    (_, ours, theirs) => ours.status === 200 && theirs.body?.code === '42601',
  ],
  [
    'a parameter with a name does not take the whole body',
    (_, ours, theirs) => ours.body?.code === 'PGRST202' && theirs.body?.code === '42883',
  ],
  [
    'calls that Postgres finds ambiguous are told as others are',
    (_, ours, theirs) => ours.body?.code === 'PGRST203' && theirs.body?.code === '42725',
  ],
  [
    'handlers take any rows or need whole ones, and name their types in either case',
    (_, ours, theirs) =>
      theirs.body?.code === '42846' || /function league.image/.test(theirs.body?.message),
  ],
  [
    'defaults of columns win over those of domains',
    (request, _, theirs) =>
      /missing=default/.test(request.headers?.prefer) &&
      theirs.status === 201 &&
      request.path.startsWith('/kits'),
  ],
  ['plans', (request) => /plan/.test(request.headers?.accept)],
  // From here on: intended differences.
  [
    'what a parser leaves unread is refused',
    (_, ours, theirs) => /select parameter/.test(ours.body?.message) && theirs.status === 200,
  ],
  [
    'an index at the end of an embed is an index',
    (request) => request.path.includes('gates-%3E0)'),
  ],
  ['a semicolon separates nothing', (request) => request.path.includes(';')],
  ['estimates without a limit of rows', (request) => /estimated/.test(request.headers?.prefer)],
  [
    'values of domains are distinct as they are equal',
    (request, _, theirs) => request.path.includes('isdistinct') && theirs.body?.code === '22P02',
  ],
  [
    'NUL is in no text',
    (request, ours) => request.path.includes('%00') && ours.body?.code === 'PGRST100',
  ],
  [
    'a group that is none is refused',
    (request, ours) => /or=id/.test(request.path) && ours.body?.code === 'PGRST100',
  ],
  [
    'bytes that are no text are refused',
    (_, ours, theirs) => ours.body?.code === 'PGRST100' && theirs.status === 500,
  ],
  [
    'a line of CSV that lacks fields is refused',
    (request, ours) =>
      request.headers?.['content-type'] === 'text/csv' && ours.body?.code === 'PGRST102',
  ],
  [
    'backslashes in CSV are not doubled',
    (request, ours) => request.headers?.accept === 'text/csv' && String(ours.body).includes('\\'),
  ],
  [
    'JSON inside CSV has no spaces',
    (request) => request.headers?.accept === 'text/csv' && /\(/.test(request.path),
  ],
  [
    'names of columns alone are CSV, too',
    (request, ours, theirs) =>
      request.headers?.['content-type'] === 'text/csv' && theirs.body?.code === 'PGRST102',
  ],
  ['identities count on', (_, ours, theirs) => isDeepStrictEqual(counted(ours), counted(theirs))],
  [
    'JSON that only Postgres looks into',
    (_, ours, theirs) => ours.body?.code === '22P02' && theirs.body?.code === 'PGRST102',
  ],
]

/** Returns whether both have this code, and these statuses if any are named. */
function both(ours, theirs, code, our = ours.status, their = theirs.status) {
  return (
    ours.body?.code === code &&
    theirs.body?.code === code &&
    ours.status === our &&
    theirs.status === their
  )
}

/**
 * Returns whether it is known why `part` of two responses differs.
 * @param {string} part
 * @param {Request} request
 * @param {Response} ours
 * @param {Response} theirs
 */
export function isKnown(part, request, ours, theirs) {
  if (rules.some(([, holds]) => holds(request, ours, theirs))) return true
  const isSameError = ours.body?.code !== undefined && ours.body.code === theirs.body?.code
  if (isSameError && reworded.has(ours.body.code)) {
    // Errors had two content types.
    return ['body', 'content-type', 'www-authenticate'].includes(part)
  }
  // For an unsatisfiable range, the peer has the headers of a satisfiable one.
  if (ours.status === 416) return part !== 'content-range' && part !== 'status' && part !== 'body'
  if (part === 'content-location')
    return isRepeated(request.path) || /%(22|[C-F])/.test(request.path)
  return false
}

/** Returns the status and body without the numbers that identity columns have given. */
function counted({ status, body }) {
  const text = JSON.stringify(body).replaceAll(/("id":|contains \()\d+/g, '$10')
  return [status, JSON.parse(text)]
}

/** Returns whether a parameter is there twice; the peer then folds its values into one. */
function isRepeated(path) {
  const names = [...new URL(path, 'http://x').searchParams.keys()]
  return new Set(names).size < names.length
}
