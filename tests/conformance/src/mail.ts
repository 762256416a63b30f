import { readJson } from './body.ts'
import { Difference, SetUpError } from './difference.ts'

/** A mail with its link. */
interface Mail {
  subject: string
  text: string
  /** The first link to the verification of a token; empty where there is none. */
  link: string
}

/** The mails to one address, read from a Mailpit. */
export class Mailbox {
  constructor(
    private readonly url: string,
    readonly address: string,
    private readonly patience: number,
  ) {}

  /** Waits until there are `count` mails, and returns the newest; a Difference where they do not come. */
  async newest(count = 1): Promise<Mail> {
    const end = performance.now() + this.patience
    for (;;) {
      const ids = await this.#ids()
      const [newest] = ids
      if (newest !== undefined && ids.length >= count) return this.#read(newest)
      if (performance.now() > end) {
        throw new Difference({
          request: `mails to ${this.address}`,
          expected: `${count} mails`,
          got: `${ids.length} mails`,
        })
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /**
   * Returns the first code to be typed of the newest of `count` mails. Upstream's own templates hold a link alone, so
   * where there is none the case is not tried.
   */
  async code(count = 1): Promise<string> {
    const { text } = await this.newest(count)
    const [, code] = /\b(\d{6,10})\b/.exec(text.replaceAll(/https?:\/\/\S+/g, '')) ?? []
    if (code === undefined) throw new SetUpError('the mails of this server hold no code')
    return code
  }

  async #ids(): Promise<string[]> {
    const query = encodeURIComponent(`to:${this.address}`)
    const { messages } = (await this.#get(`search?query=${query}`)) as {
      messages: { ID: string }[]
    }
    return messages.map(({ ID }) => ID)
  }

  async #read(id: string): Promise<Mail> {
    const { Subject: subject, Text: text } = (await this.#get(`message/${id}`)) as {
      Subject: string
      Text: string
    }
    const [link = ''] = /https?:\/\/\S+\/verify\?\S+/.exec(text) ?? []
    return { subject, text, link }
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.url}/api/v1/${path}`, {
      redirect: 'error',
      signal: AbortSignal.timeout(20_000),
    })
    if (!response.ok)
      throw new Error(`the mail server responded with ${response.status} to ${path}`)
    return readJson(response)
  }
}
