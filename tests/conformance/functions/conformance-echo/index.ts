// Says what it was sent.
Deno.serve(async (request) => {
  const url = new URL(request.url)
  const type = request.headers.get('content-type')
  const isForm = type?.startsWith('multipart/form-data') ?? false
  const form = isForm ? await formOf(request) : null
  const bytes = isForm ? new Uint8Array() : new Uint8Array(await request.arrayBuffer())
  return Response.json({
    method: request.method,
    path: url.pathname,
    query: url.search,
    type,
    headers: Object.fromEntries(request.headers),
    body: new TextDecoder().decode(bytes),
    size: bytes.length,
    // The bytes, where they are few.
    hex:
      bytes.length > 100
        ? null
        : [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
    form,
  })
})

/** Returns the fields of a form; of a file its name, its type and its text. */
async function formOf(request: Request): Promise<Record<string, unknown>> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of await request.formData()) {
    fields[name] =
      typeof value === 'string'
        ? value
        : { name: value.name, type: value.type, text: await value.text() }
  }
  return fields
}
