import { Client } from 'pg'

import { group } from '../../case.ts'
import { some } from '../../match.ts'
import { project, reference } from '../../platform.ts'

export const loginRole = group('platform.login-role', {
  title: 'Login roles of the command line',
  source: reference('v1-create-login-role'),
  needs: ['platform'],
})

loginRole.case('create', 'a role with a password is made that expires', (t) =>
  t
    .post(project(t, 'cli/login-role'), { read_only: true })
    .has(201, { role: some.string, ttl_seconds: some.number, password: some.string }),
)

loginRole.case('connect', 'the role can connect to the database', { needs: ['db'] }, async (t) => {
  const made = await t
    .post(project(t, 'cli/login-role'), { read_only: true })
    .has(201, { role: some.string, password: some.string })
  const url = new URL(t.target.databaseUrl)
  url.username = encodeURIComponent(made.field('role'))
  url.password = encodeURIComponent(made.field('password'))
  const client = new Client({ connectionString: url.href, connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    const { rows } = await client.query('select session_user::text as role')
    t.equal(rows, [{ role: made.field('role') }], made.exchange)
  } finally {
    await client.end()
  }
})
