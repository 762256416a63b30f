// Lists dependencies in Cargo.toml files whose crates the code of the package does not name, and ends with 1 if there are
// any: unused-dependencies.mjs [FOLDER]
//
// Not cargo-machete, which does the same, because building it takes longer than the rest of the check (decision 46).
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Packages whose crates have another name. */
const crates = new Map([['md-5', 'md5']])

/** @param {string} folder */
const sources = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.rs'))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !path.relative(folder, file).startsWith('target'))

/** @param {string} manifest */
function dependencies(manifest) {
  const sections = manifest.split(/^\[/m).filter((section) => /^(dev-|build-)?dependencies\]/.test(section))
  return sections.flatMap((section) =>
    Array.from(section.matchAll(/^([A-Za-z0-9_-]+)\s*[.=]/gm), ([, name]) => name ?? ''),
  )
}

/**
 * Returns the dependencies that a manifest declares as intentionally unused, in the form of cargo-machete.
 * @param {string} manifest
 */
function ignored(manifest) {
  const list = /^\[package\.metadata\.cargo-machete\]\s+ignored = \[([^\]]*)\]/m.exec(manifest)?.[1] ?? ''
  return Array.from(list.matchAll(/"([^"]+)"/g), ([, name]) => name)
}

/** A text or a character of Rust, in which `//` begins no comment; else a comment, which is captured. */
const TEXT_OR_COMMENT = /\br(#*)"[^]*?"\1|"(?:\\[^]|[^"\\])*"|'(?:\\.[^']*|[^'\\])'|(\/\/.*|\/\*[^]*?\*\/)/g

/**
 * Returns Rust source without its comments.
 * @param {string} source
 */
const code = (source) =>
  source.replaceAll(TEXT_OR_COMMENT, (found, _, /** @type {string | undefined} */ comment) =>
    comment === undefined ? found : '',
  )

const root = process.argv[2] ?? path.join(import.meta.dirname, '..')
const manifests = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name === 'Cargo.toml')
  .map((entry) => path.join(entry.parentPath, entry.name))
  .filter((file) => !/node_modules|\/target\//.test(file))

let unused = 0
for (const file of manifests) {
  const manifest = readFileSync(file, 'utf8')
  const known = ignored(manifest)
  const names = dependencies(manifest).filter((name) => !known.includes(name))
  if (names.length === 0) continue
  const text = sources(path.dirname(file))
    .map((source) => code(readFileSync(source, 'utf8')))
    .join('\n')
  for (const name of names) {
    const crate = crates.get(name) ?? name.replaceAll('-', '_')
    if (!new RegExp(`\\b${crate}\\b`).test(text)) {
      console.error(`${path.relative(root, file)}: ${name} is not used`)
      unused += 1
    }
  }
}
process.exit(unused > 0 ? 1 : 0)
