/**
 * Why upstream's services are known to differ from cases: what changed in PostgREST after 12.0.2, the newest version that the npm
 * registry has, by the version that brought it. Source:
 * https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md.
 * @type {Record<string, string[]>}
 */
const laterPostgREST = {
  '12.0.3': [
    'rest.error.cardinality',
    'rest.error.recursion',
    'rest.error.status.42p17',
    'rest.insert.columns.unknown',
    'rest.media.any-table',
    'rest.media.table.other',
    'rest.representation.unknown',
  ],
  '12.2.0': [
    'rest.error.raise.json.detail',
    'rest.error.raise.json.detail.members',
    'rest.error.raise.json.message',
    'rest.error.raise.json.message.members',
    'rest.error.raise.json.missing',
    'rest.error.status.53400',
    'rest.error.status.54000',
    'rest.prefer.max-affected.delete',
    'rest.prefer.max-affected.update',
    'rest.prefer.max-affected.within',
  ],
  '12.2.3': ['rest.embed.one-to-one.composite-key'],
  '13.0.0': [
    'rest.aggregate.spread.to-many',
    'rest.catalog.dropped',
    'rest.error.proxy-status',
    'rest.error.proxy-status.head',
    'rest.error.request.path',
    'rest.error.table',
    'rest.error.table.hint',
    'rest.filter.is.not-null',
    'rest.function.filter.unselected',
    'rest.insert.order',
    'rest.jwt.audience-type',
    'rest.jwt.audience.none',
    'rest.jwt.expired',
    'rest.jwt.expiry-type',
    'rest.jwt.issued',
    'rest.jwt.not-before',
    'rest.jwt.parts',
    'rest.options.unknown',
    'rest.representation.object.none',
    'rest.representation.object.several',
    'rest.search.json',
    'rest.search.text.language',
    'rest.spread.many-to-many',
    'rest.spread.nested',
    'rest.spread.to-many',
    'rest.spread.to-many.correlated',
  ],
  '13.0.1': ['rest.jwt.role.unknown'],
  '13.0.3': ['rest.prefer.max-affected.function', 'rest.prefer.max-affected.scalar'],
  '13.0.5': ['rest.openapi.function.volatile', 'rest.spread.empty'],
  '13.0.7': ['rest.profile.unknown'],
  14.2: ['rest.insert.length'],
  '16.0': [
    'rest.embed-filter.alias.table-name',
    'rest.error.status.40001',
    'rest.prefer.timezone.hours',
    'rest.prefer.timezone.invalid',
    'rest.prefer.timezone.offset',
    'rest.representation.vary',
  ],
}

/**
 * What the backends that run here do otherwise than those of the hosted platform, S3 and S3 Vectors.
 * @type {Record<string, string[]>}
 */
const otherBackends = {
  'without quotes where parts are files': [
    'storage.s3-multipart.etag',
    'storage.s3-multipart.list',
    'storage.s3-multipart.parts',
  ],
  'a 500 where vectors are in pgvector': ['storage.vector.put.dimension'],
}

/** @type {Map<string, string>} */
const reasons = new Map()
for (const [version, names] of Object.entries(laterPostgREST)) {
  for (const name of names) reasons.set(name, `since PostgREST ${version}`)
}
for (const [reason, names] of Object.entries(otherBackends)) {
  for (const name of names) reasons.set(name, reason)
}

/**
 * Returns why upstream's services are known to differ from a case; empty for what they are to hold.
 * @param {string} name
 * @returns {string}
 */
export function reasonOf(name) {
  return reasons.get(name) ?? ''
}
