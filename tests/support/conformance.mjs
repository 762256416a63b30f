/** Starts a Basalt with all that the conformance kit asks for, and runs the kit against it. Arguments go to the kit. */
import { execFile, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { everyWayIn } from './auth.mjs'
import { Server } from './server.mjs'

const kit = path.resolve(import.meta.dirname, '../conformance')
const repository = path.resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

/** What Basalt does not have: functions share no folder with other programs, and there are no tables of Iceberg. */
const LACKING = ['-functions.runtime.files', '-storage.tus.checksum', '-storage.analytics']

/** Where the kit finds keys of the S3 protocol, and the server the same ones. */
const s3 = {
  S3_PROTOCOL_ACCESS_KEY_ID: 'conformance',
  S3_PROTOCOL_ACCESS_KEY_SECRET: 'secret of tests',
  S3_PROTOCOL_REGION: 'local',
}

/** What signs requests to identity providers. */
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

const project = await kitProject()
const server = await Server.start({
  project,
  env: {
    // No provider is asked: the kit looks at where a sign-in is led to.
    ...everyWayIn('http://127.0.0.1:9', 'http://localhost:5173'),
    GOTRUE_SAML_ENABLED: 'true',
    GOTRUE_SAML_PRIVATE_KEY: privateKey.export({ type: 'pkcs1', format: 'der' }).toString('base64'),
    GOTRUE_EXTERNAL_WEB3_ETHEREUM_ENABLED: 'true',
    ...s3,
    BASALT_FUNCTIONS_PATH: path.join(kit, 'functions'),
    // All cases together are more than one project's users may be by default.
    TENANT_MAX_CONCURRENT_USERS: '5000',
    TENANT_MAX_JOINS_PER_SECOND: '5000',
    TENANT_MAX_EVENTS_PER_SECOND: '1000000',
    CHANNEL_ERROR_BACKOFF_MS: '200',
    CONNECT_ERROR_BACKOFF_MS: '200',
    // What PostgREST has, too, and leaves off unless it is asked for.
    PGRST_DB_AGGREGATES_ENABLED: 'true',
    PGRST_DB_PLAN_ENABLED: 'true',
    PGRST_DB_TX_END: 'commit-allow-override',
  },
})
try {
  const { DB_URL, JWT_SECRET } = await server.status()
  const { url, anonKey, serviceKey } = server.access
  const environment = {
    ...process.env,
    ...s3,
    SUPABASE_URL: url,
    SUPABASE_ANON_KEY: anonKey,
    SUPABASE_SERVICE_ROLE_KEY: serviceKey,
    DATABASE_URL: DB_URL,
    MAIL_URL: server.inboxUrl,
    JWT_SECRET,
    ...(await platformAccess(server)),
  }
  // A run of some cases requires these alone.
  const given = process.argv.slice(2)
  const everything = [
    '--require',
    `rest,auth,storage,realtime,functions,platform,${LACKING.join(',')}`,
  ]
  const required = given.includes('--only') ? [] : everything
  const { stdout } = await run(server.binary, ['--version'])
  const command = ['npm run conformance -w @basalt/tests --', ...given].join(' ')
  const about = ['--about', `${stdout.trim()}, Node.js ${process.version}; made by ${command}`]
  const args = [path.join(kit, 'dist/cli.js'), ...required, ...about, ...given]
  const child = spawn(process.execPath, args, { env: environment, stdio: 'inherit' })
  // Ctrl-C reaches both; the kit cleans up before the server ends.
  process.on('SIGINT', () => undefined)
  const [code, signal] = await once(child, 'exit')
  if (signal !== null) console.error(`the kit was ended by ${signal}`)
  process.exitCode = code ?? 1
} finally {
  await server.stop()
  await rm(project, { recursive: true })
}

/**
 * Makes an access token of the Management API, and asks for the reference of the project there.
 * @param {Server} server
 */
async function platformAccess({ access, binary, dataDir, environment, project }) {
  const flags = ['--project', project, '--data-dir', dataDir]
  const { stdout } = await run(binary, ['token', 'create', ...flags], { env: environment })
  const token = stdout.trim()
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${access.url}/v1/projects`, { headers })
  const [own] = await response.json()
  return {
    SUPABASE_API_URL: access.url,
    SUPABASE_ACCESS_TOKEN: token,
    SUPABASE_PROJECT_ID: own.ref,
  }
}

/** Makes a project of the repository's files in which one function of the kit needs no token, as its README says. */
async function kitProject() {
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-conformance-'))
  const names = (await readdir(repository)).filter((name) => name !== 'config.toml')
  await Promise.all(
    names.map((name) => symlink(path.join(repository, name), path.join(folder, name))),
  )
  const settings = await readFile(path.join(repository, 'config.toml'), 'utf8')
  const own = '[functions.conformance-open]\nverify_jwt = false\n'
  await writeFile(path.join(folder, 'config.toml'), `${settings}\n${own}`)
  return folder
}
