import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'

import { freePort } from '../../bench/lib/ports.mjs'
import { PostgREST } from '../../bench/rest/postgrest.mjs'
import { everyWayIn } from '../support/auth.mjs'
import { temporaryFolder } from '../support/postgres.mjs'
import { responds, Service } from '../support/service.mjs'
import { Gateway } from './gateway.mjs'
import { Mailbox } from './mail.mjs'
import { startCluster } from './postgres.mjs'

/** The most bytes of an object, as Supabase's containers have it. */
const objectLimit = 52_428_800

/** @typedef {import('../support/postgres.mjs').Postgres} Postgres */

/**
 * Programs of upstream that no registry has.
 * @typedef {object} Programs
 * @property {string} [auth] the program of Supabase Auth; without it, there is no /auth/v1
 * @property {string} [storage] the folder of a build of Supabase Storage; without it, there is no /storage/v1
 * @property {string} [node] the Node.js that runs Supabase Storage; by default the one that runs this
 */

/** Returns the programs that the environment names. */
function programsOfEnvironment() {
  const { UPSTREAM_AUTH, UPSTREAM_STORAGE, UPSTREAM_STORAGE_NODE } = process.env
  return { auth: UPSTREAM_AUTH, storage: UPSTREAM_STORAGE, node: UPSTREAM_STORAGE_NODE }
}

/** Upstream's own services on a throwaway database, under one URL. */
export class Stack {
  /** @type {(() => unknown)[]} what ends it, the last first */
  #ends = []
  #secret = randomBytes(32).toString('hex')
  /** @type {Postgres | undefined} */
  #cluster
  /** @type {Gateway | undefined} */
  #gateway

  /**
   * Starts what there is.
   * @param {{ programs?: Programs, page?: string, port?: number, settings?: Record<string, string> }} [options] `page` is
   *   the origin of pages that sign-ins lead back to, `settings` are more of Supabase Auth's
   */
  static async start(options = {}) {
    const stack = new Stack()
    try {
      await stack.#start(options)
    } catch (error) {
      await stack.stop()
      throw error
    }
    return stack
  }

  async stop() {
    for (const end of this.#ends.splice(0).reverse()) await end()
  }

  /**
   * Runs SQL as the role that migrations run as.
   * @param {string} sql
   */
  async sql(sql) {
    await this.#cluster?.sql(sql, { role: 'postgres' })
  }

  /**
   * Lets a site respond where no service does.
   * @param {import('node:http').RequestListener} site
   */
  serve(site) {
    if (this.#gateway) this.#gateway.site = site
  }

  /** Returns what a client needs to know, by the names of `supabase status`. */
  get access() {
    return {
      API_URL: this.url,
      ANON_KEY: this.anonKey,
      SERVICE_ROLE_KEY: this.serviceKey,
      DB_URL: this.databaseUrl,
      ADMIN_DB_URL: this.adminUrl,
      JWT_SECRET: this.#secret,
      MAIL_URL: this.mailUrl,
      ...this.s3,
    }
  }

  /** @param {Parameters<typeof Stack.start>[0] & {}} options */
  async #start({
    programs = programsOfEnvironment(),
    page = 'http://localhost:5173',
    port,
    settings,
  }) {
    this.anonKey = this.#token('anon')
    this.serviceKey = this.#token('service_role')
    this.s3 = {
      S3_PROTOCOL_ACCESS_KEY_ID: randomBytes(16).toString('hex'),
      S3_PROTOCOL_ACCESS_KEY_SECRET: randomBytes(32).toString('hex'),
      S3_PROTOCOL_REGION: 'local',
    }
    const folder = await temporaryFolder('upstream-')
    this.#ends.push(() => rm(folder, { recursive: true, force: true }))
    const gateway = new Gateway(port ?? (await freePort()), [this.anonKey, this.serviceKey])
    this.url = gateway.url
    const cluster = this.#ending(await startCluster(folder))
    this.databaseUrl = cluster.uri('postgres')
    this.adminUrl = cluster.uri('supabase_admin')
    this.#cluster = cluster
    const mailbox = this.#ending(await Mailbox.start())
    this.mailUrl = mailbox.url
    const auth = await this.#auth(programs, cluster, mailbox, { page, ...settings })
    const storage = await this.#storage(programs, cluster, folder)
    const rest = await this.#rest(cluster)
    gateway.routes = routes({ rest, auth, storage })
    this.#gateway = gateway
    await gateway.listen()
    this.#ending(gateway)
  }

  /**
   * Starts PostgREST, with what it leaves off by default turned on.
   * @param {Postgres} cluster
   */
  async #rest(cluster) {
    const server = this.#ending(
      await PostgREST.start({
        PGRST_DB_URI: cluster.uri('authenticator'),
        PGRST_DB_SCHEMAS: 'public,graphql_public',
        PGRST_DB_EXTRA_SEARCH_PATH: 'public,extensions',
        PGRST_DB_ANON_ROLE: 'anon',
        PGRST_DB_MAX_ROWS: '1000',
        PGRST_DB_AGGREGATES_ENABLED: 'true',
        PGRST_DB_PLAN_ENABLED: 'true',
        PGRST_DB_TX_END: 'commit-allow-override',
        PGRST_JWT_SECRET: this.#secret,
        PGRST_OPENAPI_SERVER_PROXY_URI: `${this.url}/rest/v1`,
      }),
    )
    return server.url
  }

  /**
   * Starts Supabase Auth, with every way to sign in open and nothing limited; null where its program is not there.
   * @param {Programs} programs
   * @param {Postgres} cluster
   * @param {Mailbox} mailbox
   * @param {{ page: string } & Record<string, string>} options
   */
  async #auth({ auth }, cluster, mailbox, { page, ...settings }) {
    if (!auth) return null
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const external = `${this.url}/auth/v1`
    const verify = ['INVITE', 'CONFIRMATION', 'RECOVERY', 'EMAIL_CHANGE', 'MAGIC_LINK']
    const environment = {
      GOTRUE_API_HOST: '127.0.0.1',
      PORT: String(port),
      API_EXTERNAL_URL: external,
      GOTRUE_DB_DRIVER: 'postgres',
      GOTRUE_DB_MAX_POOL_SIZE: '20',
      DATABASE_URL: cluster.uri('supabase_auth_admin'),
      GOTRUE_SITE_URL: page,
      GOTRUE_JWT_SECRET: this.#secret,
      GOTRUE_JWT_EXP: '3600',
      GOTRUE_JWT_AUD: 'authenticated',
      GOTRUE_JWT_DEFAULT_GROUP_NAME: 'authenticated',
      GOTRUE_JWT_ADMIN_ROLES: 'service_role',
      GOTRUE_JWT_ISSUER: external,
      GOTRUE_EXTERNAL_EMAIL_ENABLED: 'true',
      GOTRUE_MAILER_AUTOCONFIRM: 'false',
      GOTRUE_MAILER_EXTERNAL_HOSTS: '127.0.0.1',
      GOTRUE_MAILER_OTP_LENGTH: '6',
      GOTRUE_RATE_LIMIT_EMAIL_SENT: '1000000',
      GOTRUE_LOG_LEVEL: 'warn',
      ...Object.fromEntries(
        verify.map((one) => [`GOTRUE_MAILER_URLPATHS_${one}`, `${external}/verify`]),
      ),
      // No provider is asked: the kit looks at where a sign-in is led to.
      ...everyWayIn('http://127.0.0.1:9', page),
      ...mailbox.settings,
      GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: 'Upstream',
      GOTRUE_SAML_ENABLED: 'true',
      GOTRUE_SAML_PRIVATE_KEY: samlKey(),
      GOTRUE_EXTERNAL_WEB3_ETHEREUM_ENABLED: 'true',
      GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: '/oauth/consent',
      GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION: 'true',
      GOTRUE_EXTERNAL_KEYCLOAK_REDIRECT_URI: `${external}/callback`,
      ...settings,
      // Zero stands for a minute.
      GOTRUE_SMTP_MAX_FREQUENCY: '1ms',
      GOTRUE_SMS_MAX_FREQUENCY: '1ms',
      GOTRUE_MFA_PHONE_MAX_FREQUENCY: '1ms',
    }
    const service = new Service({
      command: [auth, 'serve'],
      settings: environment,
      isReady: () => responds(`${url}/health`),
    })
    await service.run([auth, 'migrate'])
    this.authService = this.#ending(await service.start())
    return url
  }

  /**
   * Starts Supabase Storage with files as its backend; null where its build is not there.
   * @param {Programs} programs
   * @param {Postgres} cluster
   * @param {string} folder
   */
  async #storage({ storage, node = process.execPath }, cluster, folder) {
    if (!storage) return null
    const entry = path.join(storage, 'dist/start/server.js')
    if (!existsSync(entry)) throw new Error(`expected a build of Supabase Storage: ${entry}`)
    const [port, adminPort, objects] = [
      await freePort(),
      await freePort(),
      path.join(folder, 'objects'),
    ]
    await mkdir(objects)
    const url = `http://127.0.0.1:${port}`
    this.storageService = this.#ending(
      await new Service({
        command: [node, entry],
        folder: storage,
        isReady: () => responds(`${url}/status`),
        settings: {
          // In production it leads clients to https alone.
          NODE_ENV: 'development',
          SERVER_HOST: '127.0.0.1',
          SERVER_PORT: String(port),
          SERVER_ADMIN_PORT: String(adminPort),
          SERVER_REGION: 'local',
          TENANT_ID: 'upstream',
          ANON_KEY: this.anonKey ?? '',
          SERVICE_KEY: this.serviceKey ?? '',
          AUTH_JWT_SECRET: this.#secret,
          DATABASE_URL: cluster.uri('supabase_storage_admin'),
          DB_INSTALL_ROLES: 'false',
          STORAGE_BACKEND: 'file',
          STORAGE_FILE_BACKEND_PATH: objects,
          STORAGE_S3_BUCKET: 'upstream',
          STORAGE_S3_REGION: 'local',
          STORAGE_PUBLIC_URL: this.url ?? '',
          UPLOAD_FILE_SIZE_LIMIT: String(objectLimit),
          REQUEST_ALLOW_X_FORWARDED_PATH: 'true',
          IMAGE_TRANSFORMATION_ENABLED: 'false',
          LOG_LEVEL: 'warn',
          ...(cluster.has('vector') ? vectors(cluster) : {}),
          ...this.s3,
        },
      }).start(),
    )
    return url
  }

  /**
   * Notes that a part is to be ended with the stack.
   * @template {{ stop(): unknown }} Part
   * @param {Part} part
   */
  #ending(part) {
    this.#ends.push(() => part.stop())
    return part
  }

  /** @param {string} role */
  #token(role) {
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: 'supabase', ref: 'upstream', role, iat: now, exp: now + 86_400 }
    const parts = [{ alg: 'HS256', typ: 'JWT' }, claims]
    const text = parts
      .map((one) => Buffer.from(JSON.stringify(one)).toString('base64url'))
      .join('.')
    return `${text}.${createHmac('sha256', this.#secret).update(text).digest('base64url')}`
  }
}

/**
 * Returns the settings of Supabase Storage with which vectors lie in the database.
 * @param {Postgres} cluster
 */
function vectors(cluster) {
  return {
    VECTOR_ENABLED: 'true',
    VECTOR_BUCKET_PROVIDER: 'pgvector',
    VECTOR_DATABASE_URL: cluster.uri('supabase_admin'),
    VECTOR_DATABASE_CREATE: 'false',
    VECTOR_STORE_MIGRATIONS_ENABLED: 'true',
  }
}

/** Generates a key for single sign-on, PKCS#1 DER in base64. */
function samlKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return privateKey.export({ type: 'pkcs1', format: 'der' }).toString('base64')
}

/**
 * Returns the routes of Supabase's gateway. Those of services that no registry has (Realtime, Edge Functions) are
 * left out, so that they get what unknown paths get.
 * @param {Record<'rest' | 'auth' | 'storage', string | null>} services
 * @returns {import('./gateway.mjs').Route[]}
 */
function routes({ rest, auth, storage }) {
  /** @type {import('./gateway.mjs').Route[]} */
  const known = [{ prefix: '/rest/v1/', target: `${rest}/` }]
  if (auth) {
    const open = ['verify', 'callback', 'authorize', '.well-known/jwks.json']
    known.push(
      { prefix: '/auth/v1/', target: `${auth}/` },
      ...open.map((name) => ({
        prefix: `/auth/v1/${name}`,
        target: `${auth}/${name}`,
        open: true,
      })),
      ...['/sso/saml/acs', '/sso/saml/metadata', '/.well-known/oauth-authorization-server'].map(
        (prefix) => ({ prefix, target: `${auth}${prefix}`, open: true }),
      ),
    )
  }
  // Without a check of the key: requests of the S3 protocol have none, and Storage checks tokens itself.
  if (storage) known.push({ prefix: '/storage/v1/', target: `${storage}/`, open: true })
  return known
}
