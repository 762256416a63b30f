#!/usr/bin/env node
/**
 * Draws the files of the storage buckets. See README.md.
 *
 *   node make.mjs [portraits|pictures|icons|video]... [--public DIR]
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { icons } from './src/brand/icons.mjs'
import { social } from './src/brand/social.mjs'
import { withBrowser } from './src/core/browser.mjs'
import { quantised, webp } from './src/core/encode.mjs'
import { heroes } from './src/heroes/index.mjs'
import { people } from './src/portraits/people.mjs'
import { portrait } from './src/portraits/portrait.mjs'
import { film } from './src/video/film.mjs'

const buckets = join(dirname(fileURLToPath(import.meta.url)), '..')
const PORTRAIT_LIMIT = 60 * 1024

async function save(path, data) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, data)
  process.stdout.write(`${path.replace(`${buckets}/`, '')}  ${data.length} bytes\n`)
}

const tasks = {
  async portraits(studio) {
    for (const person of people) {
      const png = await studio.still(portrait(person), 768, 768)
      await save(join(buckets, 'experts', `${person.slug}.webp`), await webp(png, PORTRAIT_LIMIT))
    }
  },
  async pictures(studio) {
    for (const { name, scene } of heroes) {
      const png = await studio.still(scene(), 1600, 900)
      await save(join(buckets, 'blog-images', name), await quantised(png))
    }
    await save(
      join(buckets, 'other', 'terrace-social.png'),
      await quantised(await studio.still(social(), 1200, 630)),
    )
  },
  async icons(studio, publicFolder) {
    for (const file of await icons(studio)) {
      if (file.bucket !== false) await save(join(buckets, 'app', file.name), file.data)
      if (publicFolder && file.root) await save(join(publicFolder, file.name), file.data)
    }
  },
  async video(studio) {
    for (const { name, data } of await film(studio)) await save(join(buckets, 'app', name), data)
  },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { public: { type: 'string' } },
})
const unknown = positionals.filter((name) => !(name in tasks))
if (unknown.length > 0) {
  process.stderr.write(
    `expected any of ${Object.keys(tasks).join(', ')}; found ${unknown.join(', ')}\n`,
  )
  process.exit(2)
}
const chosen = positionals.length > 0 ? positionals : Object.keys(tasks)
await withBrowser(async (studio) => {
  for (const name of chosen) await tasks[name](studio, values.public)
})
