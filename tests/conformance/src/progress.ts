import type { Outcome } from './runner.ts'

/** Tells how far a run is: one line that changes on a terminal, a line for each tenth of the cases elsewhere. */
export class Progress {
  #done = 0
  #differing = 0

  constructor(
    private readonly stream: NodeJS.WriteStream,
    private readonly label: string,
    private readonly all: number,
  ) {}

  /** Counts an outcome. */
  outcome({ name, state }: Outcome): void {
    if (state === 'differs') this.#differing += 1
    this.step(this.#done + 1, name)
  }

  /** Shows that `done` of all are done. */
  step(done: number, name = ''): void {
    const tenth = Math.max(1, Math.ceil(this.all / 10))
    this.#done = done
    const bad = this.#differing === 0 ? '' : `, ${this.#differing} differ`
    const line = `${this.label}: ${done} of ${this.all}${bad}`
    if (this.stream.isTTY) {
      this.stream.write(`\r\u001b[K${`${line}  ${name}`.slice(0, this.stream.columns - 1)}`)
      if (done === this.all) this.stream.write('\r\u001b[K')
    } else if (done % tenth === 0 || done === this.all) {
      this.stream.write(`${line}\n`)
    }
  }
}
