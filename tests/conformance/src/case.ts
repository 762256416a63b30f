import type { Context } from './context.ts'
import type { Need } from './needs.ts'
import { interfaces, type Interface } from './target.ts'

/** What holds for all cases of a group, unless a case says otherwise. */
interface Traits {
  /** The upstream document that makes the promise. */
  source: string
  /** What must be there for the case to be tried. */
  needs: readonly Need[]
  /** Whether no other case may run at the same time. */
  alone: boolean
  /** Seconds until the case counts as without a response; by default the run's time limit. */
  timeout: number | null
}

/** The body of a case: asks the server and asserts. */
type Run = (t: Context) => unknown

/** One promise, and how it is tried. */
export interface Case extends Traits {
  /** Stable, with dots: interface, group, subject. */
  name: string
  interface: Interface
  group: string
  /** One sentence: what is promised. */
  promise: string
  run: Run
}

/** The definition of a group. */
interface GroupTraits extends Partial<Traits> {
  title: string
  source: string
  /** Asks whether the server has the feature at all; throws `Absent` (`t.absent`) where it has not. */
  probe?: Run
}

const groupName = /^(rest|auth|storage|realtime|functions|platform)\.[a-z][a-z0-9-]*$/
const caseName = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/

/** The cases of one feature. */
export class Group {
  readonly cases: Case[] = []
  readonly interface: Interface

  constructor(
    readonly name: string,
    readonly traits: GroupTraits,
  ) {
    if (!groupName.test(name)) throw new Error(`${name} is no name of a group: interface.feature`)
    this.interface = name.split('.')[0] as keyof typeof interfaces
  }

  /** Adds a case: its name within the group, the promise in a sentence, and how to try it. */
  case(name: string, promise: string, run: Run): void
  case(name: string, promise: string, traits: Partial<Traits>, run: Run): void
  case(name: string, promise: string, second: Partial<Traits> | Run, third?: Run): void {
    const [own, run] = typeof second === 'function' ? [{}, second] : [second, third]
    if (!caseName.test(name)) throw new Error(`${this.name}.${name} is no name of a case`)
    if (run === undefined) throw new Error(`${this.name}.${name} does nothing`)
    const { source, needs = [], alone = false, timeout = null } = { ...this.traits, ...own }
    if (!source.startsWith('https://')) throw new Error(`${this.name}.${name}: a source is a URL`)
    this.cases.push({
      name: `${this.name}.${name}`,
      interface: this.interface,
      group: this.name,
      promise,
      source,
      needs: [...new Set([...(this.traits.needs ?? []), ...needs])],
      alone,
      timeout,
      run,
    })
  }
}

/** Starts a group, `rest.filter`. A file of cases makes one or more, and exports them. */
export function group(name: string, traits: GroupTraits): Group {
  return new Group(name, traits)
}
