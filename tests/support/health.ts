import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Server } from './server.mjs'

/** What is wrong. */
export interface Problem {
  name: string
  severity: 'warning' | 'critical'
  subject: string
  what: string
  remedy: string
  since: string
}

/** The list of problems. */
export interface List {
  checked_at: string
  public: boolean
  problems: Problem[]
}

/** What the webhook gets. */
export interface Message {
  event: string
  server: string
  node: string
  text: string
  problems: Problem[]
}

/** Returns the list of the admin port; the server looks first, unless `query` says something else. */
export async function listOfProblems(server: Server, query = '?refresh=true') {
  const response = await fetch(`${server.adminUrl}/health/problems${query}`)
  if (!response.ok) throw new Error(`the list of problems: ${String(response.status)}`)
  return (await response.json()) as List
}

/** The program of an operator that is told of problems. */
export class Webhook {
  readonly messages: Message[] = []
  readonly #server: HttpServer

  private constructor() {
    this.#server = createServer((request, response) => {
      let text = ''
      request.on('data', (part: Buffer) => (text += part.toString()))
      request.on('end', () => {
        this.messages.push(JSON.parse(text) as Message)
        response.end()
      })
    })
  }

  static async start() {
    const webhook = new Webhook()
    await once(webhook.#server.listen(0, '127.0.0.1'), 'listening')
    return webhook
  }

  /** Its URL, which has a secret in it. */
  get url() {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/a-token`
  }

  stop() {
    this.#server.close()
  }
}
