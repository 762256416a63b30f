// Checks that what documents refer to is there, and ends with 1 if something is not: the files of relative links in
// Markdown, the decisions that any file names, and the paths that docs/architecture.md names.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
/** What tools have made or installed. */
const FOREIGN = new Set(['.basalt', '.git', '.venv', 'dist', 'node_modules', 'results', 'target'])
const TEXT = /\.(?:md|mjs|rs|sql|toml|tsx?)$/

const isThere = (file) => existsSync(path.join(root, file))
const read = (file) => readFileSync(path.join(root, file), 'utf8')

/** Returns the text files below `folder`, relative to the repository. */
function textsIn(folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(folder, entry.name)
    if (entry.isDirectory()) return FOREIGN.has(entry.name) ? [] : textsIn(name)
    return entry.isFile() && TEXT.test(name) ? [name] : []
  })
}

const problems = []

for (const file of textsIn('')) {
  const text = read(file)
  const links = file.endsWith('.md') ? text.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g) : []
  for (const [, target = ''] of links) {
    const isUrl = /^[a-z]+:/.test(target)
    if (!isUrl && !isThere(path.join(path.dirname(file), target))) problems.push(`${file}: there is no ${target}`)
  }
  // By the whole name: released SQL, which nobody may edit, names one by its number alone.
  for (const [name] of text.matchAll(/docs\/decisions\/\d+-[a-z0-9-]+/g)) {
    if (!isThere(`${name}.md`)) problems.push(`${file}: there is no ${name}.md`)
  }
}

// Short paths, such as those below the `src/` of a crate, do not begin with a folder of the repository.
const architecture = 'docs/architecture.md'
for (const [, name = ''] of read(architecture).matchAll(/`([\w.-]+\/[\w./-]+)`/g)) {
  const [top = ''] = name.split('/')
  if (isThere(top) && !FOREIGN.has(top) && !isThere(name)) problems.push(`${architecture}: there is no ${name}`)
}

for (const problem of problems) console.error(problem)
process.exit(problems.length > 0 ? 1 : 0)
