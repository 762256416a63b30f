import { execFileSync } from 'node:child_process'

/** A network of their own for some processes, joined to this machine's by two devices. Linux; needs root and iproute2. */
export class Network {
  #name

  /** @param {number} number from 0 to 255, by which networks are told apart */
  constructor(number) {
    this.#name = `basalt-${String(number)}`
    /** The address of this machine, for the processes inside. */
    this.outside = `10.213.${String(number)}.1`
    /** Their address. */
    this.inside = `10.213.${String(number)}.2`
    ip('netns', 'add', this.#name)
    ip('link', 'add', this.#name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#name)
    ip('address', 'add', `${this.outside}/24`, 'dev', this.#name)
    ip('link', 'set', this.#name, 'up')
    ip('-n', this.#name, 'address', 'add', `${this.inside}/24`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) ip('-n', this.#name, 'link', 'set', device, 'up')
  }

  /** Returns the words before a command that is to run inside; its process keeps its id. */
  get entering() {
    return ['nsenter', `--net=/run/netns/${this.#name}`]
  }

  /** Removes it with its devices; its processes have ended. */
  async stop() {
    ip('netns', 'delete', this.#name)
  }
}

/** @param {string[]} words of a command of iproute2, which prints its own errors */
function ip(...words) {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'inherit'] })
}
