import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

import { tree } from './processes.mjs'

/** The first version of cgroups has a folder for each resource, the second one has one for all. */
const first = '/sys/fs/cgroup/cpu'
const second = '/sys/fs/cgroup'
const isFirst = existsSync(path.join(first, 'cpu.cfs_quota_us'))

/** How often what a group may use is filled up, in microseconds: short, so that nobody waits long for it. */
const period = 10_000

/** Processes that may use no more than a part of a processor. Linux; needs root. */
export class ProcessorShare {
  /**
   * @param {string} name of the group
   * @param {number} share of one processor
   */
  constructor(name, share) {
    this.folder = path.join(isFirst ? first : second, name)
    const quota = String(Math.round(share * period))
    try {
      mkdirSync(this.folder, { recursive: true })
      if (isFirst) {
        this.#write('cpu.cfs_period_us', String(period))
        this.#write('cpu.cfs_quota_us', quota)
      } else {
        writeFileSync(path.join(second, 'cgroup.subtree_control'), '+cpu')
        this.#write('cpu.max', `${quota} ${String(period)}`)
      }
    } catch (error) {
      throw new Error(`processors cannot be shared out: root and cgroups are needed`, {
        cause: error,
      })
    }
  }

  /** Adds processes with their children; those that they start later follow them. */
  add(...roots) {
    for (const pid of roots.flatMap(tree)) this.#write('cgroup.procs', String(pid))
  }

  /** Removes the group; its processes have ended. */
  async stop() {
    rmdirSync(this.folder)
  }

  #write(file, text) {
    writeFileSync(path.join(this.folder, file), text)
  }
}
