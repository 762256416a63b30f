import { createSign, generateKeyPairSync } from 'node:crypto'

/** Returns the DER of a value: its tag, its length and its bytes. */
const der = (/** @type {number} */ tag, /** @type {Uint8Array[]} */ ...parts) => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const SEQUENCE = 0x30
/** RSA with SHA-256 (RFC 8017, appendix A.2.4). */
const ALGORITHM = der(SEQUENCE, Buffer.from('06092a864886f70d01010b0500', 'hex'))

/** Returns the name of `commonName` alone (RFC 5280, section 4.1.2.4). */
function nameOf(/** @type {string} */ commonName) {
  const attribute = [Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(commonName))]
  return der(SEQUENCE, der(0x31, der(SEQUENCE, ...attribute)))
}

/**
 * Generates an RSA key with a certificate that it signs itself, valid from 2020 to 2049; both as PEM.
 *
 * @param {string} commonName
 */
export function selfSigned(commonName) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const name = nameOf(commonName)
  const content = der(
    SEQUENCE,
    der(0x02, Buffer.from([1])),
    ALGORITHM,
    name,
    der(SEQUENCE, ...['200101000000Z', '491231000000Z'].map((at) => der(0x17, Buffer.from(at)))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = createSign('sha256').update(content).sign(privateKey)
  const certificate = der(SEQUENCE, content, ALGORITHM, der(0x03, Buffer.from([0]), signature))
  const lines = certificate
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${lines ?? ''}\n-----END CERTIFICATE-----\n`,
  }
}
