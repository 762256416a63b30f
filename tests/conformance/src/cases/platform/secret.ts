import { createHash } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { including, partly, some, without } from '../../match.ts'
import { deployed, project, reference, until } from '../../platform.ts'

/** Supabase's own provider says what the list has. */
const terraform =
  'https://registry.terraform.io/providers/supabase/supabase/latest/docs/resources/edge_function_secrets'

// They are variables of all functions.
export const secret = group('platform.secret', {
  title: 'Secrets of functions',
  source: reference('v1-bulk-create-secrets'),
  needs: ['platform'],
  alone: true,
  timeout: 120,
})

/** Returns a name for a secret that is removed after the case. */
function secretName(t: Context): string {
  const name = t.unique('secret').toUpperCase()
  t.after(() => t.prepare('DELETE', project(t, 'secrets'), [name]))
  return name
}

secret.case('set', 'secrets are set, and listed by their names', async (t) => {
  const [one, two] = [secretName(t), secretName(t)]
  const wanted = [
    { name: one, value: 'first' },
    { name: two, value: 'second' },
  ]
  await t.post(project(t, 'secrets'), wanted).is(201)
  await t
    .get(project(t, 'secrets'))
    .is(200, including(partly({ name: one }), partly({ name: two })))
})

secret.case(
  'digest',
  'of a secret the SHA-256 is listed, not the value',
  { source: terraform },
  async (t) => {
    const name = secretName(t)
    await t.prepare('POST', project(t, 'secrets'), [{ name, value: 'not shown' }])
    const value = createHash('sha256').update('not shown').digest('hex')
    await t.get(project(t, 'secrets')).is(200, including(partly({ name, value })))
  },
)

secret.case(
  'variable',
  'a function has the secret as a variable',
  { source: 'https://supabase.com/docs/guides/functions/secrets#accessing-environment-variables' },
  async (t) => {
    const name = secretName(t)
    await t.prepare('POST', project(t, 'secrets'), [{ name, value: 'hidden' }])
    const main = `Deno.serve(() => new Response(Deno.env.get(${JSON.stringify(name)}) ?? 'none'))\n`
    const path = `/functions/v1/${await deployed(t, main)}`
    await until(t, path, (_, text) => text === 'hidden')
    await t.get(path, { as: 'nobody' }).text(200, 'hidden')
  },
)

secret.case('reserved', 'names that begin with SUPABASE_ are refused', async (t) => {
  const name = `SUPABASE_${secretName(t)}`
  await t.post(project(t, 'secrets'), [{ name, value: 'no' }]).has(400, { message: some.string })
  await t.get(project(t, 'secrets')).is(200, without(partly({ name })))
})

secret.case(
  'delete',
  'secrets are deleted by their names',
  { source: reference('v1-bulk-delete-secrets') },
  async (t) => {
    const name = secretName(t)
    await t.prepare('POST', project(t, 'secrets'), [{ name, value: 'short' }])
    await t.http('DELETE', project(t, 'secrets'), { body: [name] }).is(200)
    await t.get(project(t, 'secrets')).is(200, without(partly({ name })))
  },
)
