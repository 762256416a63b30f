interface Message {
  Subject: string
  Text: string
}

interface Listing {
  messages: { ID: string }[]
}

/** A mail with its links and codes. */
interface Mail {
  subject: string
  /** The link to open; empty where the mail has none. */
  link: string
  /** The code to type; empty where the mail has none. */
  code: string
}

/** The mails that a server keeps instead of sending them. */
export class Inbox {
  constructor(private readonly url: string) {}

  /** Returns the newest mail to `address`. A mail is there as soon as the request that sent it has its response. */
  async newest(address: string): Promise<Mail> {
    const [mail] = await this.all(address)
    if (mail === undefined) throw new Error(`there is no mail to ${address}`)
    return mail
  }

  /** Returns all mails to `address`, the newest first. */
  async all(address: string): Promise<Mail[]> {
    const query = encodeURIComponent(`to:${address}`)
    const { messages } = await this.get<Listing>(`messages?query=${query}`)
    return Promise.all(messages.map(({ ID }) => this.read(ID)))
  }

  private async read(id: string): Promise<Mail> {
    const { Subject: subject, Text: text } = await this.get<Message>(`message/${id}`)
    const [link = ''] = /https?:\/\/\S+\/verify\?\S+/.exec(text) ?? []
    const [, code = ''] = /^\s*(\d{6,10})\s*$/m.exec(text) ?? []
    return { subject, link, code }
  }

  private async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${path}`)
    if (!response.ok) throw new Error(`the inbox responded with ${response.status} to ${path}`)
    return (await response.json()) as T
  }
}
