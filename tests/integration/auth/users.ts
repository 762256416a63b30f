import { randomUUID } from 'node:crypto'

import type { AuthError, Session } from '@supabase/supabase-js'
import { describe, inject } from 'vitest'

import type { Client, Traits } from '../../support/client.ts'
import { Inbox } from '../../support/inbox.ts'
import { psql } from '../../support/server.mjs'
import { service, visitor } from '../clients.ts'
import type { OwnServer } from '../setup.ts'

/** The page to which links redirect. */
export const WELCOME = 'http://127.0.0.1:5173/welcome'

export const PASSWORD = 'correct horse battery staple'

/** Tests that need more than the interface: mails, settings, an OpenID provider. */
export const describeOwnServer = describe.skipIf(inject('own') === null)

function ownServer(): OwnServer {
  const found = inject('own')
  if (found === null) throw new Error('there is nothing behind a server that is not our own')
  return found
}

export const providerUrl = () => ownServer().providerUrl

/** Runs SQL as the database's administrator. */
export const sql = (text: string) => psql(ownServer().instance, text)

export const inbox = () => new Inbox(ownServer().inboxUrl)

/** Returns an address without an account. */
export const newAddress = () => `fan-${randomUUID()}@club.example`

interface Result {
  data: unknown
  error: AuthError | null
}

/** Returns the data of a client's result; throws its error, if any. */
export async function ok<T extends Result>(
  response: Promise<T>,
): Promise<Extract<T, { error: null }>['data']> {
  const { data, error } = await response
  if (error !== null) throw error
  return data
}

/** Returns the error that the client returns. */
export async function refusal(response: Promise<{ error: AuthError | null }>): Promise<AuthError> {
  const { error } = await response
  if (error === null) throw new Error('expected a refusal, found none')
  return error
}

/** Returns the value; throws if there is none. */
export function there<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error('expected a value, found none')
  return value
}

/** Somebody with a confirmed address, who is signed in by password. */
export interface SignedInUser {
  id: string
  email: string
  client: Client
  session: Session
}

export async function newUser(traits?: Traits): Promise<SignedInUser> {
  const email = newAddress()
  const user = { email, password: PASSWORD, email_confirm: true }
  const { user: created } = await ok(service().auth.admin.createUser(user))
  return { id: there(created).id, email, ...(await signedIn(email, traits)) }
}

/** Returns another client of a user who has an account. */
export async function signedIn(
  email: string,
  traits?: Traits,
): Promise<{ client: Client; session: Session }> {
  const client = visitor(traits)
  const { session } = await ok(client.auth.signInWithPassword({ email, password: PASSWORD }))
  return { client, session: there(session) }
}

/** Returns where a link leads, as a browser sees it. */
export async function open(link: string): Promise<URL> {
  const response = await fetch(link, { redirect: 'manual' })
  return new URL(there(response.headers.get('location')))
}

/** Returns what a page finds in its fragment. */
export function fragment(url: URL): URLSearchParams {
  return new URLSearchParams(url.hash.slice(1))
}
