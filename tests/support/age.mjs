import { generateKeyPairSync } from 'node:crypto'

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
