import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { Server } from '../../support/server.mjs'

const run = promisify(execFile)

/** An answer of the platform interface. */
export interface Answer<T = unknown> {
  status: number
  /** The body, if it is JSON; else its text. */
  body: T
  headers: Headers
}

/** What an error says. */
export interface Refusal {
  message: string
}

/** What a request has beside its method and path. */
export interface Content {
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is. */
  body?: RequestInit['body']
  /** The access token; an empty one is not sent. */
  token?: string
  headers?: Record<string, string>
}

/** A function as the interface describes it. */
export interface FunctionBody {
  id: string
  slug: string
  name: string
  version: number
  verify_jwt: boolean
  entrypoint_path: string
  ezbr_sha256: string
}

/** How a server differs from one with an empty project. */
export interface Traits {
  /** Lines of config.toml. */
  config?: string
  /** Further files of the project's folder, by their paths in `supabase`. */
  files?: Record<string, string>
  env?: Record<string, string>
  /** The data folder, by default a new one. */
  dataDir?: string
}

/** A server, and what manages it. */
export class Platform {
  readonly server: Server
  /** The project's reference. */
  readonly ref: string
  /** A token that may do everything. */
  readonly token: string
  #log: string

  private constructor(server: Server, ref: string, token: string) {
    this.server = server
    this.ref = ref
    this.token = token
    this.#log = ''
    for (const stream of [server.process.stdout, server.process.stderr])
      stream.on('data', (part: Buffer) => (this.#log += part.toString()))
  }

  /** Starts a server of a new project, and makes an access token. */
  static async start(traits: Traits = {}): Promise<Platform> {
    return Platform.of(await startServer(traits))
  }

  /** Makes an access token of a server that runs. */
  static async of(server: Server): Promise<Platform> {
    const token = await createToken(server)
    const headers = { Authorization: `Bearer ${token}` }
    const response = await fetch(`${server.access.url}/v1/projects`, { headers })
    const [project] = (await response.json()) as { ref: string }[]
    return new Platform(server, project?.ref ?? '', token)
  }

  /** What the server has logged since it was ready. */
  get log() {
    return this.#log
  }

  get url() {
    return this.server.access.url
  }

  /** Sends a request to a path such as `/v1/projects`. */
  async request<T = Refusal>(method: string, place: string, content: Content = {}) {
    return send<T>(this.url, method, place, { token: this.token, ...content })
  }

  /** Sends a request to a path of the project such as `/functions`. */
  async project<T = Refusal>(method: string, place: string, content: Content = {}) {
    return this.request<T>(method, `/v1/projects/${this.ref}${place}`, content)
  }

  /** Runs SQL over the interface. */
  async query<T = Record<string, unknown>[]>(
    query: string,
    more: { parameters?: unknown[]; read_only?: boolean; token?: string } = {},
  ) {
    const { token = this.token, ...rest } = more
    return this.project<T>('POST', '/database/query', { json: { query, ...rest }, token })
  }

  /** Makes another access token, with flags of `basalt token create`. */
  async createToken(...flags: string[]) {
    return createToken(this.server, ...flags)
  }

  /** Runs a command such as `token list`, and returns what it prints. */
  async basalt(...words: string[]) {
    return basalt(this.server, ...words)
  }

  /** Returns the functions that are deployed. */
  async functions() {
    return (await this.project<FunctionBody[]>('GET', '/functions')).body
  }

  /** Returns a function as it is listed, if it is. */
  async listed(slug: string) {
    return (await this.functions()).find((one) => one.slug === slug)
  }

  /** Calls a function. */
  async call(name: string, key = this.server.access.anonKey) {
    const headers = key === '' ? undefined : { Authorization: `Bearer ${key}` }
    const response = await fetch(`${this.url}/functions/v1/${name}`, { headers })
    return { status: response.status, text: await response.text() }
  }

  /** Deploys a function whose files are `files`, the first of which is its main one. */
  async deploy<T = FunctionBody>(
    slug: string,
    files: Record<string, string> | string,
    { metadata = {}, bundleOnly = false }: { metadata?: object; bundleOnly?: boolean } = {},
  ) {
    const all =
      typeof files === 'string' ? { [`supabase/functions/${slug}/index.ts`]: files } : files
    const form = new FormData()
    const [entrypoint_path] = Object.keys(all)
    form.append('metadata', JSON.stringify({ name: slug, entrypoint_path, ...metadata }))
    for (const [name, text] of Object.entries(all)) form.append('file', new Blob([text]), name)
    const flags = bundleOnly ? '&bundleOnly=true' : ''
    return this.project<T>('POST', `/functions/deploy?slug=${slug}${flags}`, { body: form })
  }
}

/** Starts a server of a new project. */
export async function startServer({ config = '', files = {}, env = {}, dataDir }: Traits = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-platform-'))
  const all = { 'config.toml': `project_id = "platform"\n${config}`, ...files }
  for (const [name, text] of Object.entries(all)) {
    const file = path.join(folder, 'supabase', name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  const folders = [folder]
  return Server.start({ project: folder, folders, env, ...(dataDir && { dataDir }) })
}

/** Sends a request. */
export async function send<T = Refusal>(
  url: string,
  method: string,
  place: string,
  { json, body, token = '', headers = {} }: Content = {},
): Promise<Answer<T>> {
  const all = {
    ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
    ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...headers,
  }
  const content = json === undefined ? body : JSON.stringify(json)
  const response = await fetch(url + place, { method, headers: all, body: content ?? null })
  const text = await response.text()
  let read: unknown = text
  if (response.headers.get('content-type')?.startsWith('application/json') && text !== '')
    read = JSON.parse(text)
  return { status: response.status, body: read as T, headers: response.headers }
}

/** Makes an access token with `basalt token create`. */
export async function createToken(server: Server, ...flags: string[]) {
  return (await basalt(server, 'token', 'create', ...flags)).trim()
}

/** Runs one of the program's commands, and returns what it prints. */
export async function basalt(server: Server, ...words: string[]) {
  const { binary, dataDir, project } = server.instance
  const flags = ['--project', project, '--data-dir', dataDir]
  return (await run(binary, [...words, ...flags], { env: server.environment })).stdout
}

/** The text of a function that answers with `text`. */
export const saying = (text: string) => `Deno.serve(() => new Response(${JSON.stringify(text)}))\n`
