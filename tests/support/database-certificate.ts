import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** The message by which a client of Postgres asks for encryption: its length, and a code. */
export const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex')

/** Returns the fingerprint of the certificate that a Postgres at this port of the machine shows. */
export async function databaseCertificate(port: number) {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  try {
    socket.write(SSL_REQUEST)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    if (answer.toString() !== 'S') throw new Error('it does not encrypt')
    const encrypted = connectTls({ socket, rejectUnauthorized: false })
    encrypted.on('error', () => undefined)
    await once(encrypted, 'secureConnect')
    return encrypted.getPeerX509Certificate()?.fingerprint256
  } finally {
    socket.destroy()
  }
}
