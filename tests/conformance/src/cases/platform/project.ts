import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { including, partly, some, unordered } from '../../match.ts'
import { project, reference } from '../../platform.ts'

export const projects = group('platform.project', {
  title: 'The project and its services',
  source: reference('v1-get-project'),
  needs: ['platform'],
})

/** What a project that is up has. */
function described(t: Context) {
  return {
    name: some.string,
    organization_slug: some.string,
    region: some.string,
    created_at: some.time,
    database: partly({
      host: some.string,
      version: some.string,
      postgres_engine: some.string,
      release_channel: some.string,
    }),
    status: 'ACTIVE_HEALTHY',
    ref: t.target.platform?.projectRef,
  }
}

projects.case(
  'list',
  'the projects are listed with their state and their database',
  { source: reference('v1-list-all-projects') },
  (t) => t.get('projects').is(200, including(partly(described(t)))),
)

projects.case('get', 'a project is found by its reference', (t) =>
  t.get(project(t)).has(200, described(t)),
)

projects.case('unknown', 'a project that is not the operator’s is refused with a message', (t) =>
  t.get('projects/aaaaaaaaaaaaaaaaaaaa').is([403, 404], partly({ message: some.string })),
)

projects.case(
  'health',
  'the state of the services that are asked for is returned',
  { source: reference('v1-get-services-health') },
  (t) => {
    const healthy = (name: string) => partly({ name, status: 'ACTIVE_HEALTHY', healthy: true })
    return t
      .get(project(t, 'health?services=auth&services=rest&services=db'))
      .is(200, unordered(healthy('auth'), healthy('rest'), healthy('db')))
  },
)

projects.case(
  'snippets',
  'the snippets of SQL are listed',
  { source: reference('v1-list-all-snippets') },
  (t) => {
    const query = `project_ref=${t.target.platform?.projectRef ?? ''}`
    return t.get(`snippets?${query}`).has(200, { data: some.array })
  },
)

projects.case(
  'buckets',
  'the buckets of storage are listed',
  { source: reference('v1-list-all-buckets'), needs: ['service'] },
  async (t) => {
    const id = await t.bucket({ public: true })
    const bucket = partly({
      name: id,
      created_at: some.time,
      updated_at: some.time,
      public: true,
      id,
    })
    await t.get(project(t, 'storage/buckets')).is(200, including(bucket))
  },
)
