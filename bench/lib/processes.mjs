import { readdirSync, readFileSync } from 'node:fs'

/** Ticks of a second in which the kernel counts processor time; 100 on every Linux that Node runs on. */
const ticks = 100

/**
 * Returns the processor time that a process has used, in microseconds; its children's not included. Linux only.
 * Source: proc_pid_stat(5).
 * @param {number} pid
 */
export function processorTime(pid) {
  return microseconds(fields(pid)?.slice(11, 13) ?? [])
}

/**
 * Returns the processor time that a process, its children, and those of them that have ended have used, in
 * microseconds.
 * @param {number} root
 */
export function treeProcessorTime(root) {
  const children = childrenOf()
  /** Beside its own, a process counts the time of children that it has waited for. @type {(pid: number) => number} */
  const sum = (pid) =>
    (children.get(pid) ?? []).reduce(
      (total, child) => total + sum(child),
      microseconds(fields(pid)?.slice(11, 15) ?? []),
    )
  return sum(root)
}

/** Returns a process and all that it has started, itself first. @param {number} root */
export function tree(root) {
  const children = childrenOf()
  /** @type {(pid: number) => number[]} */
  const below = (pid) => [pid, ...(children.get(pid) ?? []).flatMap(below)]
  return below(root)
}

/** Returns the resident memory of a process in bytes: now, and at its peak. Linux only. @param {number} pid */
export function memory(pid) {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8')
  const value = (/** @type {string} */ name) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
  return { now: value('VmRSS'), peak: value('VmHWM') }
}

function microseconds(/** @type {string[]} */ fields) {
  return (fields.reduce((total, field) => total + Number(field), 0) * 1_000_000) / ticks
}

function childrenOf() {
  /** @type {Map<number, number[]>} */
  const children = new Map()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = Number(fields(name)?.[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  return children
}

/**
 * Returns the fields of a process's stat from its state on; `undefined` when it has ended.
 * @param {number | string} pid
 */
function fields(pid) {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    // The name in parentheses may hold spaces and parentheses itself.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
