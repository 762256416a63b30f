import { group } from '../../case.ts'
import { some } from '../../match.ts'
import { reference } from '../../platform.ts'

export const access = group('platform.access', {
  title: 'Access tokens',
  source: reference('introduction#authentication'),
  needs: ['platform'],
})

const refusals = {
  missing: ['without a token the response is 401 with a message', undefined],
  unknown: ['with a token that does not exist the response is 401', `sbp_${'0'.repeat(40)}`],
} as const
for (const [name, [promise, token]] of Object.entries(refusals)) {
  access.case(name, promise, { source: reference('v1-list-all-projects') }, (t) =>
    t
      .get('projects', {
        as: 'nobody',
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      })
      .has(401, { message: some.string }),
  )
}

access.case('key', 'an API key of the project is no access token', { needs: ['service'] }, (t) =>
  t
    .get('projects', {
      as: 'nobody',
      headers: { authorization: `Bearer ${t.target.serviceKey}` },
    })
    .has(401, { message: some.string }),
)
