import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/media_type_handlers.html'

const lines = 'application/vnd.conformance.lines'

export const media = group('rest.media', {
  title: 'Media types of the database',
  source: docs,
  needs: ['sql'],
})

media.case(
  'function',
  'a function whose type is named as a media type responds with it',
  { source: `${docs}#handler-function` },
  (t) =>
    t
      .get('rpc/conformance_page?name=Ada', { accept: 'text/html' })
      .text(200, '<p>Ada</p>')
      .header('content-type', /^text\/html/),
)

media.case(
  'function.text',
  'a function of plain text responds with the text itself',
  { source: `${docs}#handler-function` },
  (t) =>
    t
      .post('rpc/conformance_plain', { name: 'Ada' }, { accept: 'text/plain' })
      .text(200, 'Hello, Ada')
      .header('content-type', /^text\/plain/),
)

media.case(
  'function.bytes',
  'a function of bytes responds with the bytes themselves',
  { source: `${docs}#handler-function` },
  (t) =>
    t
      .get('rpc/conformance_bytes', { accept: 'application/vnd.conformance.bytes' })
      .bytes(200, new Uint8Array([0, 255, 16]))
      .header('content-type', 'application/vnd.conformance.bytes'),
)

media.case(
  'table',
  'an aggregate of the rows of a table is used for the table',
  { source: `${docs}#handlers-for-tables-views` },
  (t) =>
    t
      .get('conformance_branches?order=id&id=lt.3', { accept: lines })
      .text(200, '1 Harbour\n2 Hill\n')
      .header('content-type', lines),
)

media.case(
  'table.function',
  'an aggregate of the rows of a table is used for functions that return such rows',
  { source: `${docs}#handlers-for-tables-views` },
  (t) =>
    t
      .get('rpc/conformance_branches_of?low=3', { accept: lines })
      .text(200, '3 Empty\n')
      .header('content-type', lines),
)

media.case(
  'table.other',
  'an aggregate of the rows of one table is not used for another',
  { source: 'https://docs.postgrest.org/en/stable/references/errors.html#pgrst107' },
  (t) => t.get('conformance_countries', { accept: lines }).has(406, { code: 'PGRST107' }),
)

media.case(
  'any-table',
  'an aggregate of any element is used for every table and any columns',
  {
    source: 'https://github.com/PostgREST/postgrest/blob/main/src/library/PostgREST/SchemaCache.hs',
  },
  (t) =>
    t
      .get('conformance_countries?select=code', { accept: 'application/vnd.conformance.count' })
      .text(200, '||||'),
)

media.case(
  'any',
  'a handler of any media type responds to all, with bytes unless it says otherwise',
  { source: `${docs}#the-any-handler` },
  (t) =>
    t
      .get('rpc/conformance_whatever', { accept: 'unknown/unknown' })
      .text(200, 'anything')
      .header('content-type', 'application/octet-stream'),
)

media.case(
  'any.named',
  'a handler of any media type says which one it returns',
  { source: `${docs}#the-any-handler` },
  (t) =>
    t
      .get('rpc/conformance_whatever_named', { accept: '*/*' })
      .text(200, 'named')
      .header('content-type', 'text/x-conformance'),
)
