import { group } from '../../case.ts'
import { including, partly, some } from '../../match.ts'
import { project, reference, schemaWith, sql } from '../../platform.ts'

const lints = 'https://supabase.com/docs/guides/database/database-advisors'

export const advisor = group('platform.advisor', {
  title: 'Advisors',
  source: lints,
  needs: ['platform'],
  timeout: 60,
})

/** What every lint says beside its name and what it is about. */
const said = {
  title: some.string,
  facing: 'EXTERNAL',
  description: some.string,
  detail: some.string,
  remediation: some.string,
  cache_key: some.string,
}

advisor.case(
  'security',
  'a table that anybody can read without row-level security is reported',
  { source: `${lints}?queryGroups=lint&lint=0013_rls_disabled_in_public` },
  async (t) => {
    const table = t.unique('open')
    t.after(() => sql(t, `drop table if exists public.${table}`))
    // Some projects turn row-level security on for all new tables.
    await sql(
      t,
      `create table public.${table} (id int4 primary key);
       alter table public.${table} disable row level security;
       grant select on public.${table} to anon`,
    )
    const lint = {
      ...said,
      name: 'rls_disabled_in_public',
      level: 'ERROR',
      categories: ['SECURITY'],
      metadata: partly({ schema: 'public', type: 'table', name: table }),
    }
    await t.get(project(t, 'advisors/security')).has(200, { lints: including(partly(lint)) })
  },
)

advisor.case(
  'performance',
  'a foreign key without an index is reported',
  { source: `${lints}?queryGroups=lint&lint=0001_unindexed_foreign_keys` },
  async (t) => {
    const schema = await schemaWith(
      t,
      `create table SCHEMA.authors (id int4 primary key);
       create table SCHEMA.books (id int4 primary key, author int4 references SCHEMA.authors)`,
    )
    const lint = {
      ...said,
      name: 'unindexed_foreign_keys',
      level: 'INFO',
      categories: ['PERFORMANCE'],
      metadata: partly({ name: 'books', type: 'table', schema }),
    }
    await t.get(project(t, 'advisors/performance')).has(200, { lints: including(partly(lint)) })
  },
)

advisor.case(
  'separate',
  'the advisor of security reports nothing about performance',
  { source: reference('v1-get-security-advisors') },
  async (t) => {
    const response = await t.get(project(t, 'advisors/security'))
    response.has(200, { lints: some.array })
    const { lints: found } = response.json as { lints: { categories: string[] }[] }
    const others = found.filter(({ categories }) => !categories.includes('SECURITY'))
    t.equal(others, [], null)
  },
)
