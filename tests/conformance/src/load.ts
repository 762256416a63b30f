import { readdir } from 'node:fs/promises'

import { type Case, Group } from './case.ts'
import { interfaces } from './target.ts'

/** Loads the groups of all files below `cases`, in the order of the interfaces and then by name. */
export async function loadGroups(): Promise<Group[]> {
  const groups: Group[] = []
  for (const name of Object.keys(interfaces)) {
    const folder = new URL(`cases/${name}/`, import.meta.url)
    const files = (await readdir(folder)).filter((file) => /^[^.]+\.(js|ts)$/.test(file)).sort()
    for (const file of files) {
      const module = (await import(new URL(file, folder).href)) as Record<string, unknown>
      groups.push(...Object.values(module).filter((value) => value instanceof Group))
    }
  }
  checkNames(groups)
  return groups
}

/** Returns whether `name` is `prefix` or lies below it: `rest.filter` has `rest.filter.eq`, not `rest.filters.eq`. */
export function isBelow(name: string, prefix: string): boolean {
  return name === prefix || name.startsWith(`${prefix}.`)
}

/** Returns the cases below any of the prefixes; all where there is none. Throws where a prefix names nothing. */
export function select(cases: readonly Case[], prefixes: readonly string[]): Case[] {
  for (const prefix of prefixes) {
    if (!cases.some(({ name }) => isBelow(name, prefix)))
      throw new Error(`no case is named ${prefix}`)
  }
  if (prefixes.length === 0) return [...cases]
  return cases.filter(({ name }) => prefixes.some((prefix) => isBelow(name, prefix)))
}

/** Checks that no name is there twice: names are what requirements and reports refer to. */
export function checkNames(groups: readonly Group[]): void {
  const names = new Set<string>()
  for (const { name } of [...groups, ...groups.flatMap(({ cases }) => cases)]) {
    if (names.has(name)) throw new Error(`${name} is there twice`)
    names.add(name)
  }
}
