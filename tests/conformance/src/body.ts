/** The most bytes of one answer that are read, and of the messages of one socket that wait. */
export const sizeLimit = 64 << 20

/** Returns the body of an answer; `onPiece` is told of each piece. Throws for one that is longer than any promised one. */
export async function readBody(answer: Response, onPiece?: () => void): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of answer.body ?? []) {
    onPiece?.()
    size += piece.length
    // Leaving the loop ends the request.
    if (size > sizeLimit) throw new Error(`the answer has more than ${sizeLimit} bytes`)
    pieces.push(piece)
  }
  return new Uint8Array(Buffer.concat(pieces))
}

/** Returns the body of an answer as JSON. */
export async function readJson(answer: Response): Promise<unknown> {
  return JSON.parse(new TextDecoder().decode(await readBody(answer)))
}
