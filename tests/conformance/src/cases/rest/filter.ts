import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/tables_views.html'
const grammar = 'https://docs.postgrest.org/en/stable/references/api/url_grammar.html'

export const filter = group('rest.filter', {
  title: 'Filters of rows',
  source: `${docs}#operators`,
  needs: ['sql'],
})

type Filter = [name: string, promise: string, query: string, ids: number[], source?: string]

/** A filter of people, and the ids of those that it keeps. */
const ofPeople: Filter[] = [
  ['eq', 'eq keeps rows whose column equals the value', 'country=eq.DE', [3, 4]],
  ['neq', 'neq drops rows that equal the value, and nulls', 'country=neq.DE', [1, 2, 5]],
  ['gt', 'gt keeps greater values', 'score=gt.8', [1]],
  ['gte', 'gte keeps greater and equal values', 'score=gte.8', [1, 3]],
  ['lt', 'lt keeps smaller values', 'score=lt.0', [5]],
  ['lte', 'lte keeps smaller and equal values', 'score=lte.0', [5, 6]],
  ['like.star', 'like takes * for any characters', 'name=like.*a', [1, 4]],
  ['like.percent', 'like takes % for any characters', 'name=like.%a', [1, 4]],
  ['like.underscore', 'like takes _ for one character', 'name=like._da', [1]],
  ['like.escape', 'like takes an escaped _ and % as they are', 'name=like.snorri\\_100\\%', [6]],
  ['ilike', 'ilike looks at no case', 'name=ilike.a*', [1]],
  ['match', 'match takes a regular expression', 'name=match.^[AB]', [1, 2]],
  ['imatch', 'imatch takes a regular expression and looks at no case', 'name=imatch.^[ab]', [1, 2]],
  ['in', 'in keeps rows with one of the values', 'id=in.(1,3,99)', [1, 3]],
  [
    'in.quoted',
    'values of in are quoted for reserved characters',
    'name=in.("Émilie (du) \\"Ch,telet\\"",Ada)',
    [1, 5],
    `${grammar}#reserved-chars`,
  ],
  ['is.null', 'is.null keeps nulls', 'country=is.null', [6]],
  ['is.not-null', 'is.not_null keeps all but nulls', 'score=is.not_null', [1, 2, 3, 5, 6]],
  ['is.true', 'is.true keeps what is true', 'active=is.true', [1, 2, 5]],
  ['is.false', 'is.false keeps what is false', 'active=is.false', [3, 6]],
  ['is.unknown', 'is.unknown keeps truth values that are null', 'active=is.unknown', [4]],
  ['not', 'not turns an operator round', 'id=not.in.(1,2,3)', [4, 5, 6]],
  ['not.null', 'not.is.null drops nulls', 'born=not.is.null', [1, 2, 3, 5, 6]],
  ['not.like', 'not.like drops what matches the pattern', 'name=not.like.*a*', [5, 6]],
  ['isdistinct', 'isdistinct treats null as a value', 'country=isdistinct.DE', [1, 2, 5, 6]],
  ['contains', 'cs keeps arrays with all elements', 'tags=cs.{math,poetry}', [1]],
  ['contains.quoted', 'cs takes quoted elements of arrays', 'tags=cs.{"a,b","two words"}', [5]],
  ['contains.json', 'cs keeps JSON that contains other JSON', 'profile=cs.{"langs":["en"]}', [1]],
  [
    'contained',
    'cd keeps arrays without other elements',
    'tags=cd.{math,poetry,history}',
    [1, 2, 4, 6],
  ],
  ['overlaps', 'ov keeps arrays with a common element', 'tags=ov.{poetry,history}', [1, 6]],
  ['any', 'eq(any) keeps rows that equal one of the values', 'id=eq(any).{2,4}', [2, 4]],
  [
    'any.not',
    'not.eq(any) drops rows that equal one of the values',
    'id=not.eq(any).{1,2}',
    [3, 4, 5, 6],
  ],
  ['any.like', 'like(any) keeps what matches one pattern', 'name=like(any).{A*,*l}', [1, 3]],
  ['any.ilike', 'ilike(any) looks at no case', 'name=ilike(any).{a*,d*}', [1, 4]],
  ['any.match', 'match(any) keeps what matches one expression', 'name=match(any).{^A,^B}', [1, 2]],
  ['any.imatch', 'imatch(any) looks at no case', 'name=imatch(any).{^a,RI_}', [1, 6]],
  ['any.gt', 'gt(any) compares with the smallest value', 'score=gt(any).{8,100}', [1]],
  ['any.gte', 'gte(any) compares with the smallest value', 'score=gte(any).{8,100}', [1, 3]],
  ['any.lt', 'lt(any) compares with the greatest value', 'score=lt(any).{-9,0}', [5]],
  ['any.lte', 'lte(any) compares with the greatest value', 'score=lte(any).{-9,0}', [5, 6]],
  ['all.eq', 'eq(all) keeps rows that equal every value', 'id=eq(all).{3,3}', [3]],
  ['all.like', 'like(all) keeps what matches every pattern', 'name=like(all).{C*,*l}', [3]],
  ['all.ilike', 'ilike(all) looks at no case', 'name=ilike(all).{b*,*E}', [2]],
  ['all.match', 'match(all) keeps what matches every expression', 'name=match(all).{^D,a$}', [4]],
  ['all.imatch', 'imatch(all) looks at no case', 'name=imatch(all).{^a,A$}', [1]],
  ['all.gt', 'gt(all) compares with the greatest value', 'score=gt(all).{1,8}', [1]],
  ['all.gte', 'gte(all) compares with the greatest value', 'score=gte(all).{1,8}', [1, 3]],
  ['all.lt', 'lt(all) compares with the smallest value', 'score=lt(all).{0,9}', [5]],
  ['all.lte', 'lte(all) compares with the smallest value', 'score=lte(all).{0,9}', [5, 6]],
  ['and', 'several filters hold together', 'score=gte.0&score=lt.8', [2, 6], `${docs}#h-filter`],
  [
    'json.text',
    '->> takes a member of a JSON column as text',
    'profile->site->>visits=eq.7',
    [1],
    `${docs}#json-columns`,
  ],
  [
    'json.number',
    '-> compares a member of a JSON column as the number that it is',
    'profile->site->visits=gt.7',
    [3],
    `${docs}#json-columns`,
  ],
  [
    'json.null',
    'a member that is null or not there is null as text',
    'profile->>site=is.null',
    [2, 4, 6],
    `${docs}#json-columns`,
  ],
  [
    'json.negative',
    'a negative index counts from the end of a JSON array',
    'profile->langs->>-1=eq.la',
    [3],
    `${docs}#json-columns`,
  ],
  [
    'composite',
    'a field of a composite column is compared as text',
    'address->>city=eq.Paris',
    [2],
    `${docs}#composite-array-columns`,
  ],
  [
    'composite.number',
    'a field of a composite column is compared as a number',
    'address->zip=gte.37073',
    [2, 4],
    `${docs}#composite-array-columns`,
  ],
  [
    'element',
    'an element of an array column is compared',
    'tags->>0=eq.math',
    [1, 2, 3],
    `${docs}#composite-array-columns`,
  ],
  [
    'computed',
    'a computed field is compared as a column is',
    'conformance_initial=eq.C',
    [3],
    'https://docs.postgrest.org/en/stable/references/api/computed_fields.html#horizontal-filtering-on-computed-fields',
  ],
]

/** A filter of books: operators of ranges, and of an enumeration. */
const ofBooks: Filter[] = [
  [
    'range.overlaps',
    'ov keeps ranges with a common point',
    'printed=ov.[1800-01-01,1843-06-01)',
    [1, 2, 5],
  ],
  [
    'range.contains',
    'cs keeps ranges that contain a range',
    'printed=cs.[1843-03-01,1843-04-01)',
    [1, 2, 5],
  ],
  [
    'range.contained',
    'cd keeps ranges within a range',
    'printed=cd.[1600-01-01,1845-01-01)',
    [1, 3],
  ],
  [
    'range.left',
    'sl keeps ranges strictly left of another',
    'printed=sl.[1800-01-01,1900-01-01)',
    [3],
  ],
  [
    'range.right',
    'sr keeps ranges strictly right of another',
    'printed=sr.[1600-01-01,1700-01-01)',
    [1, 2],
  ],
  [
    'range.not-right',
    'nxr keeps ranges that do not extend to the right of another',
    'printed=nxr.[1600-01-01,1844-01-01)',
    [1, 3],
  ],
  [
    'range.not-left',
    'nxl keeps ranges that do not extend to the left of another',
    'printed=nxl.[1843-01-01,1850-01-01)',
    [1],
  ],
  [
    'range.adjacent',
    'adj keeps ranges that are next to another',
    'printed=adj.[1844-01-01,1860-01-01)',
    [1],
  ],
  [
    'enum',
    'values of an enumeration are compared in the order of the enumeration',
    'genre=gt.poetry',
    [1, 4, 5],
    'https://docs.postgrest.org/en/stable/how-tos/working-with-postgresql-data-types.html#enums',
  ],
]

for (const [table, filters] of [
  ['conformance_people', ofPeople],
  ['conformance_books', ofBooks],
] as const) {
  for (const [name, promise, query, ids, source = `${docs}#${sourceOf(name)}`] of filters) {
    filter.case(name, promise, { source }, (t) =>
      t.get(`${table}?select=id&order=id&${encoded(query)}`).is(
        200,
        ids.map((id) => ({ id })),
      ),
    )
  }
}

function sourceOf(name: string): string {
  return /^(any|all)(\.|$)/.test(name) ? 'operator-modifiers' : 'operators'
}

/** Returns the query with its values percent-encoded. */
function encoded(query: string): string {
  const pairs = query.split('&').map((pair) => pair.split(/=(.*)/s))
  return pairs.map(([name = '', value = '']) => `${name}=${encodeURIComponent(value)}`).join('&')
}

filter.case(
  'in.backslash',
  'a quote and a backslash within quotes are escaped by a backslash',
  { source: `${grammar}#reserved-chars` },
  (t) => {
    const list = encodeURIComponent('("text \\"with\\" \\\\ and é")')
    return t.get(`conformance_types?select=id&text_=in.${list}`).is(200, [{ id: 1 }])
  },
)

filter.case(
  'spaces',
  'names of tables and columns with spaces are percent-encoded',
  { source: `${grammar}#table-columns-with-spaces` },
  (t) => t.get('conformance_Quoted%20name?select=id&Two%20Words=eq.two').is(200, [{ id: 2 }]),
)

filter.case(
  'quoted-column',
  'a name of a column with reserved characters is quoted',
  { source: `${grammar}#reserved-chars` },
  (t) => {
    const column = encodeURIComponent('"ünï,(code)"')
    return t.get(`conformance_Quoted%20name?select=id&${column}=eq.b`).is(200, [{ id: 2 }])
  },
)

filter.case('or', 'or keeps rows that meet one of the conditions', async (t) => {
  const rows = t.anon.from('conformance_people').select('id').order('id')
  t.data(await rows.or('country.eq.GB,and(active.is.false,score.gt.1)'), [{ id: 1 }, { id: 3 }])
})

filter.case(
  'fts',
  'fts finds words by a full-text query',
  { source: `${docs}#full-text-search` },
  (t) =>
    t
      .get('conformance_books?select=id&order=id&search=fts(english).numbers')
      .is(200, [{ id: 2 }, { id: 4 }]),
)

filter.case('unknown-column', 'a filter on a column that is not there is refused', (t) =>
  t.get('conformance_people?nowhere=eq.1').has(400, { code: '42703' }),
)
