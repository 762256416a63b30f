// Responds with what it is told to: { status, headers, body }, the body as text, or as bytes in `hex`, or of `size`
// bytes. `headers` may be a list, so that one of them can be there twice. A preflight gets what it asks for, as
// Supabase's guide shows it.
const cors = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, x-client-info, apikey, content-type, x-own',
}

Deno.serve(async (request) => {
  if (request.method === 'OPTIONS') return new Response('ok', { headers: cors })
  const { status = 200, headers = {}, body = null, hex, size } = await request.json()
  const bytes = hex?.match(/../g)?.map((digits: string) => Number.parseInt(digits, 16))
  const content = bytes ? new Uint8Array(bytes) : size ? 'x'.repeat(size) : body
  return new Response(content, { status, headers })
})
