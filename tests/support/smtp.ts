import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

import { authorityFile, certificate } from './certificate.ts'

/** A mail as a mail server got it. */
interface Delivery {
  to: string
  /** As it was sent, headers first. */
  text: string
  encrypted: boolean
  /** What the client logged in with, as AUTH PLAIN has it; empty without a log-in. */
  login: string
}

/** A mail server that accepts mails only over STARTTLS. Source: RFC 5321, RFC 3207, RFC 4954. */
export class MailServer {
  readonly deliveries: Delivery[] = []
  /** Whether it refuses mails at the moment. */
  isRefusing = false
  /** The number of refused mails. */
  refused = 0

  private constructor(private readonly server: Server) {}

  static async start(): Promise<MailServer> {
    const server = createServer()
    const mails = new MailServer(server)
    server.on('connection', (socket) => {
      socket.write('220 localhost ready\r\n')
      mails.talk(socket, { to: '', text: '', encrypted: false, login: '' })
    })
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    return mails
  }

  /** Returns the settings with which a server of ours hands its mails to this one. */
  get settings(): Record<string, string> {
    return {
      SSL_CERT_FILE: authorityFile,
      GOTRUE_SMTP_HOST: 'localhost',
      GOTRUE_SMTP_PORT: String((this.server.address() as AddressInfo).port),
      GOTRUE_SMTP_USER: 'club',
      GOTRUE_SMTP_PASS: 'a-password',
      GOTRUE_SMTP_ADMIN_EMAIL: 'club@terrace.example',
    }
  }

  stop(): void {
    this.server.close()
  }

  private talk(socket: Socket, delivery: Delivery): void {
    let input = ''
    let isText = false
    const read = (chunk: Buffer) => {
      input += chunk.toString()
      for (let end = input.indexOf('\r\n'); end >= 0; end = input.indexOf('\r\n')) {
        const line = input.slice(0, end)
        input = input.slice(end + 2)
        if (isText && line !== '.') {
          delivery.text += `${line}\r\n`
        } else if (isText) {
          isText = false
          this.deliveries.push({ ...delivery })
          socket.write('250 taken\r\n')
        } else if (line === 'STARTTLS') {
          socket.off('data', read)
          socket.write('220 go ahead\r\n')
          const secure = new TLSSocket(socket, { isServer: true, ...certificate })
          this.talk(secure, { ...delivery, encrypted: true })
          return
        } else {
          isText = line === 'DATA'
          socket.write(this.reply(line, delivery))
        }
      }
    }
    socket.on('data', read)
    // A client that disconnects early is no failure of this server.
    socket.on('error', () => undefined)
  }

  private reply(line: string, delivery: Delivery): string {
    const [verb = ''] = line.split(' ')
    switch (verb) {
      case 'EHLO':
        return `250-localhost\r\n250 ${delivery.encrypted ? 'AUTH PLAIN' : 'STARTTLS'}\r\n`
      case 'AUTH':
        delivery.login = Buffer.from(line.split(' ')[2] ?? '', 'base64').toString()
        return '235 welcome\r\n'
      case 'MAIL':
        delivery.text = ''
        if (this.isRefusing) {
          this.refused += 1
          return '451 come back later\r\n'
        }
        return delivery.encrypted ? '250 ok\r\n' : '530 STARTTLS first\r\n'
      case 'RCPT':
        delivery.to = /<(.*)>/.exec(line)?.[1] ?? ''
        return '250 ok\r\n'
      case 'DATA':
        return '354 go on\r\n'
      default:
        return '250 ok\r\n'
    }
  }
}
