import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
} from 'node:crypto'

/** The characters of Bech32. */
const characters = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'

/** The polynomial of its checksum. */
const generator = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]

/**
 * Makes a pair of keys as `age-keygen` does.
 * Source: the specification of age (C2SP/age), "The X25519 recipient type".
 * @returns {{ recipient: string, identity: string }} the public key, and the private one
 */
export function ageKeys() {
  const { d = '', x = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' })
  return {
    recipient: bech32('age', Buffer.from(x, 'base64url')),
    identity: bech32('age-secret-key-', Buffer.from(d, 'base64url')).toUpperCase(),
  }
}

/** The beginning of an X25519 key in the form of PKCS #8 and of SubjectPublicKeyInfo, before its 32 bytes. */
const privateKey = Buffer.from('302e020100300506032b656e04220420', 'hex')
const publicKey = Buffer.from('302a300506032b656e032100', 'hex')

/** The length of the random bytes before the payload of a file, and of the tag of what is encrypted. */
const [nonceLength, tagLength] = [16, 16]

/**
 * Returns a file of age with other content, for the same recipients. It is one that `identity` opens, and of less than
 * 64 KiB.
 * Source: the specification of age (C2SP/age), "The X25519 recipient type" and "Payload".
 * @param {Buffer} file
 * @param {string} identity the private key
 * @param {(text: string) => string} change returns the other content
 */
export function withContent(file, identity, change) {
  const begin = file.indexOf('\n', file.indexOf('\n--- ') + 1) + 1
  const header = file.subarray(0, begin)
  const key = fileKey(header.toString('latin1'), identity)
  const nonce = file.subarray(begin, begin + nonceLength)
  const text = decrypted(derived(key, nonce, 'payload'), last, file.subarray(begin + nonceLength))
  const other = randomBytes(nonceLength)
  const cipher = createCipheriv('chacha20-poly1305', derived(key, other, 'payload'), last, {
    authTagLength: tagLength,
  })
  const sealed = [cipher.update(change(text.toString())), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat([header, other, ...sealed])
}

/** The nonce of the first part of a payload, if it is the last one, too. */
const last = Buffer.from('000000000000000000000001', 'hex')

/** Returns the key of a file with this header. */
function fileKey(/** @type {string} */ header, /** @type {string} */ identity) {
  const [, share = '', body = ''] = /^-> X25519 (\S+)\n(\S+)$/m.exec(header) ?? []
  const secret = bytesOf(identity)
  const own = createPrivateKey({
    key: Buffer.concat([privateKey, secret]),
    format: 'der',
    type: 'pkcs8',
  })
  const { x = '' } = createPublicKey(own).export({ format: 'jwk' })
  const ephemeral = Buffer.from(share, 'base64')
  const other = createPublicKey({
    key: Buffer.concat([publicKey, ephemeral]),
    format: 'der',
    type: 'spki',
  })
  const shared = diffieHellman({ privateKey: own, publicKey: other })
  const salt = Buffer.concat([ephemeral, Buffer.from(x, 'base64url')])
  const wrapping = derived(shared, salt, 'age-encryption.org/v1/X25519')
  return decrypted(wrapping, Buffer.alloc(12), Buffer.from(body, 'base64'))
}

/** Returns a key that is derived from `key` for a use. */
const derived = (
  /** @type {Buffer} */ key,
  /** @type {Buffer} */ salt,
  /** @type {string} */ use,
) => Buffer.from(hkdfSync('sha256', key, salt, use, 32))

function decrypted(
  /** @type {Buffer} */ key,
  /** @type {Buffer} */ nonce,
  /** @type {Buffer} */ sealed,
) {
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagLength })
  decipher.setAuthTag(sealed.subarray(-tagLength))
  return Buffer.concat([decipher.update(sealed.subarray(0, -tagLength)), decipher.final()])
}

/** Returns the bytes of a key in Bech32. */
function bytesOf(/** @type {string} */ key) {
  const words = key.toLowerCase().replace(/^.*1/, '').slice(0, -6)
  const bits = Array.from(words, (word) => characters.indexOf(word).toString(2).padStart(5, '0'))
  const bytes = bits.join('').match(/.{8}/g) ?? []
  return Buffer.from(bytes.map((byte) => parseInt(byte, 2)))
}

/**
 * Source: BIP 173.
 * @param {string} prefix
 * @param {Uint8Array} bytes
 */
function bech32(prefix, bytes) {
  const letters = Array.from(prefix, (letter) => letter.charCodeAt(0))
  const expanded = [...letters.map((code) => code >> 5), 0, ...letters.map((code) => code & 31)]
  const words = fives(bytes)
  const rest = remainder([...expanded, ...words, 0, 0, 0, 0, 0, 0]) ^ 1
  const checksum = [25, 20, 15, 10, 5, 0].map((shift) => (rest >> shift) & 31)
  return `${prefix}1${[...words, ...checksum].map((word) => characters.charAt(word)).join('')}`
}

/** Returns the groups of five bits, of which the last one is filled with zeros. */
function fives(/** @type {Uint8Array} */ bytes) {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((group) => parseInt(group.padEnd(5, '0'), 2))
}

/** Returns the remainder of the division by the generator. */
function remainder(/** @type {number[]} */ words) {
  return words.reduce((sum, word) => {
    const next = ((sum & 0x1ffffff) << 5) ^ word
    return generator.reduce((all, term, bit) => ((sum >> (25 + bit)) & 1 ? all ^ term : all), next)
  }, 1)
}
