import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'

import { parse, words } from '../support/mime.mjs'

/**
 * A mail as it was delivered.
 * @typedef {{ id: string, to: string[], subject: string, text: string }} Mail
 */

/**
 * What the mails say, by the names of Supabase Auth's settings. Its own texts have a link alone; projects that use codes
 * add them. Source: https://supabase.com/docs/guides/auth/auth-email-passwordless#with-otp.
 */
const templates = ['CONFIRMATION', 'RECOVERY', 'MAGIC_LINK', 'EMAIL_CHANGE', 'INVITE']
const template = '<p><a href="{{ .ConfirmationURL }}">Go on</a></p>\n<p>Code: {{ .Token }}</p>\n'

/** The longest mail that is taken, in bytes. */
const sizeLimit = 1_000_000

/**
 * A mail server that keeps what it is sent, and shows it with the paths of Mailpit's interface that the kit asks.
 * Sources: RFC 5321; https://mailpit.axllent.org/docs/api-v1/.
 */
export class Mailbox {
  /** @type {Mail[]} */
  #mails = []
  #smtp = createServer((socket) => this.#talk(socket))
  #http = createHttpServer((request, response) => this.#show(request, response))

  static async start() {
    const mailbox = new Mailbox()
    for (const server of [mailbox.#smtp, mailbox.#http]) {
      await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
    }
    return mailbox
  }

  /** Returns where the mails are shown. */
  get url() {
    return `http://127.0.0.1:${portOf(this.#http)}`
  }

  /** Returns the settings with which Supabase Auth delivers its mails here, with links and codes. */
  get settings() {
    return {
      GOTRUE_SMTP_HOST: '127.0.0.1',
      GOTRUE_SMTP_PORT: String(portOf(this.#smtp)),
      GOTRUE_SMTP_ADMIN_EMAIL: 'admin@upstream.example',
      ...Object.fromEntries(
        templates.map((name) => [`GOTRUE_MAILER_TEMPLATES_${name}`, `${this.url}/template`]),
      ),
    }
  }

  stop() {
    this.#smtp.close()
    this.#http.close()
    this.#http.closeAllConnections()
  }

  /** @param {import('node:net').Socket} socket */
  #talk(socket) {
    /** @type {string[]} */
    let to = []
    let input = ''
    let isData = false
    const reply = (/** @type {string} */ line) => socket.write(`${line}\r\n`)
    // A client that disconnects early is no failure of this server.
    socket.on('error', () => undefined)
    socket.setEncoding('latin1')
    reply('220 localhost')
    socket.on('data', (chunk) => {
      input += String(chunk)
      if (input.length > sizeLimit) socket.destroy()
      for (;;) {
        const end = input.indexOf(isData ? '\r\n.\r\n' : '\r\n')
        if (end < 0) return
        const line = input.slice(0, end)
        input = input.slice(end + (isData ? 5 : 2))
        if (isData) {
          isData = false
          this.#keep(to, line.replaceAll(/^\.\./gm, '.'))
          reply('250 taken')
          continue
        }
        const verb = line.split(' ')[0]?.toUpperCase()
        if (verb === 'QUIT') return void socket.end('221 bye\r\n')
        if (verb === 'MAIL') to = []
        if (verb === 'RCPT') to.push(/<(.*?)>/.exec(line)?.[1] ?? '')
        isData = verb === 'DATA'
        reply(isData ? '354 go on' : '250 ok')
      }
    })
  }

  /**
   * @param {string[]} to
   * @param {string} message with each byte as one character
   */
  #keep(to, message) {
    const { headers, parts } = parse(message)
    const plain = parts.find(({ type }) => type === 'text/plain')
    const html = parts.find(({ type }) => type === 'text/html')
    const text = plain?.text ?? asText(html?.text ?? '')
    const subject = words(headers.get('subject') ?? '')
    this.#mails.unshift({ id: String(this.#mails.length + 1), to, subject, text })
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  #show(request, response) {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname === '/template') {
      response.end(template)
      return
    }
    const id = /^\/api\/v1\/message\/(\d+)$/.exec(pathname)?.[1]
    const body = id === undefined ? this.#list(pathname, searchParams) : this.#one(id)
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? { Error: 'not found' }))
  }

  /** @param {string} id */
  #one(id) {
    const mail = this.#mails.find((one) => one.id === id)
    return mail && { ...summary(mail), Text: mail.text }
  }

  /**
   * @param {string} pathname
   * @param {URLSearchParams} parameters
   */
  #list(pathname, parameters) {
    if (!['/api/v1/messages', '/api/v1/search'].includes(pathname)) return null
    const address = /to:"?([^"\s]+)/.exec(parameters.get('query') ?? '')?.[1]?.toLowerCase()
    const found = this.#mails.filter(
      ({ to }) => address === undefined || to.some((one) => one.toLowerCase().includes(address)),
    )
    return { total: found.length, messages: found.map(summary) }
  }
}

/** @param {Mail} mail */
function summary({ id, to, subject }) {
  return { ID: id, To: to.map((address) => ({ Address: address })), Subject: subject }
}

/** @param {import('node:net').Server} server */
function portOf(server) {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/**
 * Returns what Mailpit shows as the text of a mail that has only HTML: each link with its address behind it.
 * @param {string} html
 */
function asText(html) {
  return html
    .replaceAll(/<a\s[^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gis, '$2 ( $1 )')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#34;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}
