/** The storage service of a running server, as its service role. */
export class Objects {
  /** @param {{ url: string, serviceKey: string }} access */
  constructor({ url, serviceKey }) {
    this.url = url
    this.headers = { authorization: `Bearer ${serviceKey}` }
  }

  /** Makes a bucket. */
  async bucket(name, isPublic) {
    await this.#post('bucket', 'application/json', JSON.stringify({ name, public: isPublic }))
  }

  /** Uploads `bytes`. */
  async upload(path, bytes) {
    await this.#post(`object/${path}`, 'application/octet-stream', bytes)
  }

  async #post(target, type, body) {
    const request = { method: 'POST', headers: { ...this.headers, 'content-type': type }, body }
    const response = await fetch(`${this.url}/storage/v1/${target}`, request)
    if (!response.ok) throw new Error(`storage: ${target}: ${await response.text()}`)
  }
}
