// Writes release.json for `basalt update` into a folder of packages: release-manifest.mjs FOLDER VERSION. It names the
// archives of FOLDER with their digests. The publisher signs it: minisign -Sm release.json.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const [folder, version] = process.argv.slice(2)
if (!folder || !version) {
  console.error('usage: release-manifest.mjs FOLDER VERSION')
  process.exit(1)
}
const begin = `basalt-${version}-`
const end = '.tar.gz'
const archives = readdirSync(folder)
  .filter((file) => file.startsWith(begin) && file.endsWith(end))
  .sort()
  .map((file) => {
    const sha256 = createHash('sha256')
      .update(readFileSync(path.join(folder, file)))
      .digest('hex')
    return { target: file.slice(begin.length, -end.length), file, sha256 }
  })
if (archives.length === 0) {
  console.error(`${folder} has no archive ${begin}…${end}`)
  process.exit(1)
}
const manifest = { version, archives }
writeFileSync(path.join(folder, 'release.json'), `${JSON.stringify(manifest, null, 2)}\n`)
