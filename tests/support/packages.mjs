import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Where the packages are that npm has installed for this repository. */
const installed = path.resolve(import.meta.dirname, '../../node_modules')

/** What a package's name looks like, so that a path leads nowhere else. */
const names = /^(@[a-z\d-]+\/)?[a-z\d][a-z\d._-]*$/

/** The limit on the size of an archive, in bytes. */
const largest = 64 * 1024 * 1024

/**
 * Returns an npm registry's description of a package, with the version that is installed here as the only one.
 * Source: npm's documentation, "Package metadata".
 * @param {string} name
 * @param {string} registry the URL, which ends with a slash
 * @returns {Promise<string | undefined>} the document as JSON; nothing for a package that is not installed
 */
export async function packument(name, registry) {
  if (!isInstalled(name)) return undefined
  const description = /** @type {{ version: string }} */ (
    JSON.parse(await readFile(path.join(installed, name, 'package.json'), 'utf8'))
  )
  const { version } = description
  const dist = { tarball: `${registry}${name}/-/package.tgz` }
  return JSON.stringify({
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...description, dist } },
  })
}

/**
 * Returns the archive of a package that is installed here.
 * @param {string} name
 * @returns {Promise<Buffer | undefined>} nothing for one that is not
 */
export async function pack(name) {
  if (!isInstalled(name)) return undefined
  return compressed(path.join(installed, name))
}

/**
 * Returns the archive of a package that has these files.
 * @param {Record<string, string>} files their texts by their names
 * @returns {Promise<Buffer>}
 */
export async function archive(files) {
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-package-'))
  try {
    await Promise.all(
      Object.entries(files).map(([name, text]) => writeFile(path.join(folder, name), text)),
    )
    return await compressed(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param {string} folder */
async function compressed(folder) {
  // When it is unpacked, the first folder of each path is removed, whatever its name is.
  const place = ['-C', path.dirname(folder), path.basename(folder)]
  const { stdout } = await run('tar', ['-cz', ...place], {
    encoding: 'buffer',
    maxBuffer: largest,
  })
  return stdout
}

/** @param {string} name */
function isInstalled(name) {
  return names.test(name) && existsSync(path.join(installed, name, 'package.json'))
}
