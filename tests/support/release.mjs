import { execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

const script = path.resolve(import.meta.dirname, '../../scripts/release-manifest.mjs')
const cpu = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const target = `${cpu}-${process.platform === 'darwin' ? 'apple-darwin' : 'unknown-linux-gnu'}`

/** A publisher, who signs as minisign does. */
export class Publisher {
  #keys = generateKeyPairSync('ed25519')
  #id = randomBytes(8)

  /** The public key in the form of minisign. */
  get key() {
    const { x = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    return Buffer.concat([Buffer.from('Ed'), this.#id, Buffer.from(x, 'base64url')]).toString(
      'base64',
    )
  }

  /**
   * Returns what minisign writes for a file with these bytes.
   * @param {Buffer} bytes
   */
  sign(bytes) {
    const comment = 'a release'
    const hash = createHash('blake2b512').update(bytes).digest()
    const signature = sign(null, hash, this.#keys.privateKey)
    const all = sign(null, Buffer.concat([signature, Buffer.from(comment)]), this.#keys.privateKey)
    const line = Buffer.concat([Buffer.from('ED'), this.#id, signature])
    return [
      'untrusted comment: signature',
      line.toString('base64'),
      `trusted comment: ${comment}`,
      all.toString('base64'),
      '',
    ].join('\n')
  }

  /**
   * Makes the folder of a release with this program.
   * @param {string} folder
   * @param {string} version
   * @param {Buffer | string} program
   */
  async release(folder, version, program) {
    const name = `basalt-${version}-${target}`
    const stage = await mkdtemp(path.join(tmpdir(), 'basalt-stage-'))
    await mkdir(path.join(stage, name))
    await writeFile(path.join(stage, name, 'README.md'), 'a release')
    await writeFile(path.join(stage, name, 'basalt'), program)
    await chmod(path.join(stage, name, 'basalt'), 0o755)
    await mkdir(folder, { recursive: true })
    const archive = path.join(folder, `${name}.tar.gz`)
    const tar = execFileSync('tar', ['-C', stage, '-cf', '-', name], { maxBuffer: 2 ** 30 })
    await writeFile(archive, gzipSync(tar, { level: 1 }))
    await rm(stage, { recursive: true })
    execFileSync(process.execPath, [script, folder, version])
    const manifest = await readFile(path.join(folder, 'release.json'))
    await writeFile(path.join(folder, 'release.json.minisig'), this.sign(manifest))
    return archive
  }
}

/**
 * Returns a copy of a program that says another version of the same length.
 * @param {Buffer} program
 * @param {string} from
 * @param {string} to
 */
export function withVersion(program, from, to) {
  const copy = Buffer.from(program)
  for (let at = copy.indexOf(from); at !== -1; at = copy.indexOf(from, at + 1)) copy.write(to, at)
  return copy
}
