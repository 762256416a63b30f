import { group } from '../../case.ts'
import { including, partly, some } from '../../match.ts'
import { project, reference, sql } from '../../platform.ts'

export const migration = group('platform.migration', {
  title: 'Migrations',
  source: reference('v1-apply-a-migration'),
  needs: ['platform'],
})

const history = reference('v1-list-migration-history')

/** Returns SQL that removes a migration of the kit from the history. */
function forgetting(name: string): string {
  return `delete from supabase_migrations.schema_migrations where name = '${name}'`
}

// Versions are times: two migrations of the same second may be refused.
migration.case(
  'apply',
  'a migration is run and recorded',
  { source: history, alone: true },
  async (t) => {
    const name = t.unique('migration')
    t.after(() => sql(t, `drop schema if exists ${name} cascade; ${forgetting(name)}`))
    const query = `create schema ${name}; create table ${name}.notes (id int4)`
    await t.post(project(t, 'database/migrations'), { query, name }).is(200)
    const list = await t
      .get(project(t, 'database/migrations'))
      .is(200, including(partly({ version: some.string, name })))
    const entries = list.json as { version: string; name?: string }[]
    const version = entries.find((one) => one.name === name)?.version
    await t.get(project(t, `database/migrations/${version ?? ''}`)).has(200, { version, name })
    await t
      .post(project(t, 'database/query'), {
        query: `select count(*)::int4 as n from ${name}.notes`,
      })
      .is(201, [{ n: 0 }])
  },
)

migration.case('failed', 'a migration that fails leaves nothing', { alone: true }, async (t) => {
  const name = t.unique('migration')
  t.after(() => sql(t, `drop schema if exists ${name} cascade; ${forgetting(name)}`))
  await t
    .post(project(t, 'database/migrations'), {
      query: `create schema ${name};\nselect nope`,
      name,
    })
    .has(400, { message: /column "nope" does not exist/ })
  await t
    .post(project(t, 'database/query'), {
      query: `select to_regnamespace('${name}') is null as gone`,
    })
    .is(201, [{ gone: true }])
})
