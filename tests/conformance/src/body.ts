/** The most bytes of one response that are read, and of the messages of one socket that wait. */
export const sizeLimit = 64 << 20

/** Returns the body of a response; `onPiece` is told of each piece. Throws if it is longer than any promised one. */
export async function readBody(response: Response, onPiece?: () => void): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    onPiece?.()
    size += piece.length
    // Leaving the loop ends the request.
    if (size > sizeLimit) throw new Error(`the response has more than ${sizeLimit} bytes`)
    pieces.push(piece)
  }
  return new Uint8Array(Buffer.concat(pieces))
}

/** Returns the body of a response as JSON. */
export async function readJson(response: Response): Promise<unknown> {
  return JSON.parse(new TextDecoder().decode(await readBody(response)))
}
