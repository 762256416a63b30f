import { createHmac, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { inject } from 'vitest'

import { run } from '../../support/raw.ts'
import { psql } from '../../support/server.mjs'
import type { OwnServer } from '../setup.ts'
import { Wire } from './wire.ts'

/** Whether the server is the tests' own, so that they may sign tokens for it and run SQL. */
export const isOwn = inject('own') !== null

function own(): OwnServer {
  const found = inject('own')
  if (found === null) throw new Error('there is nothing behind a server that is not our own')
  return found
}

/** Returns a name that no other test uses. */
export const unique = (what: string) => `${what}-${randomUUID()}`

/** Runs SQL as the database's administrator. */
export const sql = (text: string) => psql(own().instance, text)

/** Returns the keys of a server, by the names that `basalt keys` prints. */
async function keysOf({
  binary,
  project,
  dataDir,
}: OwnServer['instance']): Promise<Map<string, string>> {
  const flags = ['keys', '--show', '--project', project, '--data-dir', dataDir]
  const lines = (await run(binary, flags)).stdout.matchAll(/^(\w+)=(.*)$/gm)
  return new Map(Array.from(lines, ([, name = '', value = '']) => [name, value]))
}

let known: Promise<Map<string, string>> | undefined

/** Returns a key of the server under test. */
export async function key(name: string): Promise<string> {
  known ??= keysOf(own().instance)
  return (await known).get(name) ?? ''
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Returns a token with that header and those claims, signed by HMAC. */
export function signed(
  claims: object,
  secret: string,
  header: Record<string, unknown> = { alg: 'HS256', typ: 'JWT' },
): string {
  const text = `${part(header)}.${part(claims)}`
  const hash = String(header.alg).replace('HS', 'sha')
  const isHmac = hash.startsWith('sha')
  const signature = isHmac ? createHmac(hash, secret).update(text).digest('base64url') : ''
  return `${text}.${signature}`
}

/** Seconds since 1970, so many from now. */
export const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

/** Returns a token of somebody signed in, good for an hour unless the claims say otherwise. */
export async function token(claims: object = {}): Promise<string> {
  const usual = { role: 'authenticated', exp: inSeconds(3600) }
  return signed({ ...usual, ...claims }, await key('JWT_SECRET'))
}

/** Returns somebody with a token. */
export async function somebody(): Promise<{ id: string; token: string }> {
  const id = randomUUID()
  return { id, token: await token({ sub: id }) }
}

/** Opens sockets and closes them together. */
export class Wires {
  private readonly open: Wire[] = []

  async add(...socketOptions: Parameters<typeof Wire.open>): Promise<Wire> {
    const wire = await Wire.open(...socketOptions)
    this.open.push(wire)
    return wire
  }

  close(): void {
    for (const wire of this.open.splice(0)) wire.cut()
  }
}

/** Waits long enough for a message to arrive that must not be sent. */
export const moment = (milliseconds = 300) => sleep(milliseconds)

/** Sends a request to the HTTP interface, with the publishable key unless the headers name a token. */
export function post(
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Response> {
  const { url, anonKey } = inject('access')
  return fetch(`${url}/realtime/v1/api/${path}`, {
    method: 'POST',
    headers: { apikey: anonKey, 'content-type': 'application/json', ...headers },
    body: body as BodyInit,
  })
}

/** A schema of one file of tests, and its tables. */
export class Tables {
  constructor(readonly schema: string) {}

  /** Makes the schema, in which every role of clients may read. */
  async make(): Promise<void> {
    const roles = 'anon, authenticated, service_role'
    await sql(`create schema ${this.schema}; grant usage on schema ${this.schema} to ${roles}`)
  }

  /** Drops the schema with everything in it. */
  async drop(): Promise<void> {
    await sql(`drop schema ${this.schema} cascade`)
  }

  /** Makes a table that is published, and returns its name in SQL. */
  async published(table: string, columns: string, more = ''): Promise<string> {
    const name = `${this.schema}.${table}`
    await sql(`create table ${name} (${columns}); grant all on ${name} to anon, authenticated, service_role;
               ${more}; alter publication supabase_realtime add table ${name}`)
    return name
  }
}
