import { group } from '../../case.ts'
import { including, partly, some } from '../../match.ts'
import { project, reference } from '../../platform.ts'

export const setting = group('platform.setting', {
  title: 'Settings of the services',
  source: reference('v1-get-postgrest-service-config'),
  needs: ['platform'],
})

setting.case('rest', 'the settings of REST are returned', (t) =>
  t.get(project(t, 'postgrest')).has(200, {
    max_rows: some.number,
    db_extra_search_path: some.string,
    db_schema: some.string,
  }),
)

setting.case(
  'auth',
  'the settings of auth are returned',
  { source: reference('v1-get-auth-service-config') },
  (t) =>
    t.get(project(t, 'config/auth')).has(200, {
      site_url: some.string,
      jwt_exp: some.number,
      disable_signup: some.boolean,
      external_email_enabled: some.boolean,
    }),
)

setting.case(
  'storage',
  'the settings of storage are returned',
  { source: reference('v1-get-storage-config') },
  (t) => {
    const feature = partly({ enabled: some.boolean })
    return t.get(project(t, 'config/storage')).has(200, {
      features: partly({
        imageTransformation: feature,
        s3Protocol: feature,
        icebergCatalog: feature,
        vectorBuckets: feature,
      }),
      capabilities: partly({ list_v2: some.boolean, iceberg_catalog: some.boolean }),
      external: partly({ upstreamTarget: /^(main|canary)$/ }),
      fileSizeLimit: some.number,
    })
  },
)

setting.case(
  'pooler',
  'the connection string of the database is returned by both of its names',
  { source: reference('v1-get-pooler-config') },
  (t) => {
    const connection = /^postgres(ql)?:\/\//
    const primary = {
      identifier: some.string,
      is_using_scram_auth: some.boolean,
      db_user: some.string,
      db_host: some.string,
      db_port: some.number,
      db_name: some.string,
      pool_mode: /^(transaction|session)$/,
      database_type: 'PRIMARY',
      connection_string: connection,
      connectionString: connection,
    }
    return t.get(project(t, 'config/database/pooler')).is(200, including(partly(primary)))
  },
)
