// Checks that each test that a document names as `path::name of the test` is there, and ends with 1 if one is not:
// check-test-names.mjs DOCUMENT…
//
// A test that is always skipped counts as missing: it checks nothing.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')

/** Code spans that hold a file's path, two colons and a name. A line may end inside of one. */
const reference = /`([\w./-]+\.(?:rs|m?[jt]sx?|py))::([^`]+)`/g

/** @param {string} text */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Returns a pattern of the declaration of test `name` in a file of this kind.
 * @param {string} file
 * @param {string} name
 */
function declaration(file, name) {
  const word = escaped(name)
  switch (path.extname(file)) {
    case '.rs':
      return new RegExp(
        `#\\[(?:tokio::)?test\\b[^\\]]*\\]\\s*(?:#\\[(?!ignore)[^\\]]*\\]\\s*)*(?:async\\s+)?fn ${word}\\(`,
      )
    case '.py':
      return new RegExp(`^\\s*(?:async )?def ${word}\\(`, 'm')
    default:
      // test('…', it('…', test.each(…)('…', group.case('…'
      return new RegExp(`(?<!\\b(?:describe\\w*|skip|todo|fixme)\\b[^\\n]*)\\(\\s*(['"\`])${word}\\1\\s*,`)
  }
}

const documents = process.argv.slice(2)
let missing = documents.length === 0 ? 1 : 0
for (const document of documents) {
  const text = readFileSync(path.join(root, document), 'utf8')
  const named = Array.from(text.matchAll(reference), ([, file = '', name = '']) => [
    file,
    name.replace(/\s+/g, ' '),
  ])
  const problems = named.flatMap(([file, name]) => {
    const place = path.join(root, file)
    if (!existsSync(place)) return [`there is no file ${file}`]
    const isThere = declaration(file, name).test(readFileSync(place, 'utf8'))
    return isThere ? [] : [`${file} has no test "${name}"`]
  })
  if (named.length === 0) problems.push('names no test')
  for (const problem of new Set(problems)) console.error(`${document}: ${problem}`)
  missing += problems.length
}
process.exit(missing > 0 ? 1 : 0)
