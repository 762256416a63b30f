import { group } from '../../case.ts'
import { project, reference, schemaWith } from '../../platform.ts'

export const types = group('platform.types', {
  title: 'Generated types',
  source: reference('v1-generate-typescript-types'),
  needs: ['platform'],
})

types.case('default', 'by default the types of the schema public alone are generated', (t) =>
  t.get(project(t, 'types/typescript')).has(200, {
    // Most projects expose a second schema.
    types: /export type Database = \{(?![^]*\bgraphql_public: \{)[^]*\bpublic: \{/,
  }),
)

types.case('schemas', 'the types of other schemas are generated', async (t) => {
  const schema = await schemaWith(
    t,
    'create table SCHEMA.notes (id int4 not null, body text, tags text[] not null)',
  )
  const notes =
    'notes: \\{\\s+Row: \\{\\s+body: string \\| null;?\\s+id: number;?\\s+tags: string\\[\\]'
  await t.get(project(t, `types/typescript?included_schemas=${schema}`)).has(200, {
    types: new RegExp(`\\b${schema}: \\{\\s+Tables: \\{\\s+${notes}`),
  })
})
