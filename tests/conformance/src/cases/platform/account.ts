import { group } from '../../case.ts'
import { including, partly, some } from '../../match.ts'
import { project, reference } from '../../platform.ts'

export const account = group('platform.account', {
  title: 'The operator and organizations',
  source: reference('v1-get-profile'),
  needs: ['platform'],
})

account.case('profile', 'the profile says who the token is for', (t) =>
  t
    .get('profile')
    .has(200, { gotrue_id: some.string, primary_email: some.string, username: some.string }),
)

account.case(
  'organizations',
  'the organizations are listed, among them that of the project',
  { source: reference('v1-list-all-organizations') },
  async (t) => {
    const { organization_slug: slug } = await t.prepare('GET', project(t))
    await t
      .get('organizations')
      .is(200, including(partly({ id: some.string, slug, name: some.string })))
  },
)

account.case(
  'organization',
  'an organization is found by its slug',
  { source: reference('v1-get-an-organization') },
  async (t) => {
    const { organization_slug: slug } = await t.prepare('GET', project(t))
    await t.get(`organizations/${String(slug)}`).has(200, {
      id: some.string,
      name: some.string,
      opt_in_tags: some.array,
      allowed_release_channels: some.array,
    })
  },
)
