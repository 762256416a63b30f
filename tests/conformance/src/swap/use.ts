/** A feature that a project uses, and where. */
export interface Use {
  /** Of the table in `features.ts`. */
  feature: string
  /** Which of its kind, where there are many: an extension, a provider. */
  name: string
  /** What is used of it: functions, tables, roles. */
  thing: string
  /** Seen from the project's folder. */
  file: string
  line: number
}

/** The text of a file of a project. */
export interface Source {
  file: string
  text: string
}

/** All uses of one feature. */
export interface UsedFeature {
  feature: string
  name: string
  things: readonly string[]
  places: readonly { file: string; line: number }[]
}

/** Puts uses under their features, each place once, in the order of `order` and then by name. */
export function byFeature(uses: readonly Use[], order: readonly string[]): UsedFeature[] {
  const groups = new Map<string, Use[]>()
  for (const use of uses) {
    const key = `${use.feature} ${use.name}`
    groups.set(key, [...(groups.get(key) ?? []), use])
  }
  const used = [...groups.values()].flatMap((all) => {
    const [first] = all
    if (!first) return []
    const places = new Map(all.map(({ file, line }) => [`${file}:${line}`, { file, line }]))
    const things = new Set(all.flatMap(({ thing }) => thing || []))
    const { feature, name } = first
    return [{ feature, name, things: [...things].sort(), places: [...places.values()] }]
  })
  return used.sort(
    (a, b) => order.indexOf(a.feature) - order.indexOf(b.feature) || (a.name < b.name ? -1 : 1),
  )
}
