import { group } from '../../case.ts'
import { some } from '../../match.ts'
import { project, reference, schemaWith } from '../../platform.ts'

/** The service that runs the SQL. */
const meta = 'https://github.com/supabase/postgres-meta/blob/master'

export const query = group('platform.query', {
  title: 'SQL',
  source: reference('v1-run-a-query'),
  needs: ['platform'],
})

query.case('types', 'rows are returned as objects with values of JSON', (t) => {
  const text = `select 1::int4 as whole, 1.5::float8 as half, true as yes, null::text as nothing,
    'Zürich ☕'::text as name, '{"a":[1,null]}'::jsonb as document, array[1,2]::int4[] as list`
  return t.post(project(t, 'database/query'), { query: text }).is(201, [
    {
      ...{ whole: 1, half: 1.5, yes: true, nothing: null },
      ...{ document: { a: [1, null] }, list: [1, 2], name: 'Zürich ☕' },
    },
  ])
})

query.case(
  'types.bigint',
  'whole numbers are numbers of JSON as far as these are exact, and text beyond',
  { source: `${meta}/src/lib/db.ts#L6` },
  (t) =>
    t
      .post(project(t, 'database/query'), {
        query: 'select 9007199254740993::int8 as huge, count(*) as rows from generate_series(1, 3)',
      })
      .is(201, [{ huge: '9007199254740993', rows: 3 }]),
)

query.case(
  'several',
  'of several statements the rows of the last one are returned',
  { source: `${meta}/src/lib/db.ts#L140` },
  (t) =>
    t
      .post(project(t, 'database/query'), { query: 'select 1 as one; select 2 as two' })
      .is(201, [{ two: 2 }]),
)

query.case('parameters', 'a statement takes parameters', (t) =>
  t
    .post(project(t, 'database/query'), {
      query: 'select $1::int4 + 1 as sum, $2::text as name',
      parameters: [41, `it's "quoted"`],
    })
    .is(201, [{ sum: 42, name: `it's "quoted"` }]),
)

query.case('write', 'a statement changes the database', async (t) => {
  const schema = await schemaWith(t, 'create table SCHEMA.notes (id int4, body text)')
  await t
    .post(project(t, 'database/query'), {
      query: `insert into ${schema}.notes values (1, 'first') returning id, body`,
    })
    .is(201, [{ id: 1, body: 'first' }])
  await t
    .post(project(t, 'database/query'), { query: `select body from ${schema}.notes` })
    .is(201, [{ body: 'first' }])
})

query.case(
  'error',
  'an error has its code, its message and the line where it is',
  { source: `${meta}/test/server/query.ts#L580` },
  (t) =>
    t.post(project(t, 'database/query'), { query: 'select 1,\n  nope' }).has(400, {
      message:
        /^Failed to run sql query: ERROR: +42703: column "nope" does not exist\nLINE 2: {3}nope\n +\^/,
    }),
)

query.case('empty', 'a request without SQL is refused', (t) =>
  t.post(project(t, 'database/query'), { query: '' }).has(400, { message: some.string }),
)

query.case('read-only', 'with read_only, data can be read', async (t) => {
  const schema = await schemaWith(
    t,
    `create table SCHEMA.notes (body text); insert into SCHEMA.notes values ('first')`,
  )
  await t
    .post(project(t, 'database/query'), {
      query: `select body from ${schema}.notes`,
      read_only: true,
    })
    .is(201, [{ body: 'first' }])
})

query.case('read-only.refused', 'with read_only, nothing can be written', async (t) => {
  const schema = await schemaWith(t, 'create table SCHEMA.notes (body text)')
  await t
    .post(project(t, 'database/query'), {
      query: `insert into ${schema}.notes values ('no')`,
      read_only: true,
    })
    .has(400, { message: /^Failed to run sql query: ERROR: / })
  await t
    .post(project(t, 'database/query'), {
      query: `select count(*)::int4 as notes from ${schema}.notes`,
    })
    .is(201, [{ notes: 0 }])
})

query.case(
  'read-only.role',
  'SQL that only reads runs as supabase_read_only_user',
  { source: reference('v1-read-only-query') },
  (t) =>
    t
      .post(project(t, 'database/query/read-only'), {
        query: 'select current_user::text as name, $1::int4 as number',
        parameters: [7],
      })
      .is(201, [{ number: 7, name: 'supabase_read_only_user' }]),
)
