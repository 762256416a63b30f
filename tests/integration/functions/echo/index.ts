// Sends back what it was sent, in the form that the path names.

let remembered: unknown = null

Deno.serve(async (request) => {
  const url = new URL(request.url)
  switch (url.pathname.split('/')[2]) {
    case 'text':
      return new Response(`text: ${await request.text()}`)
    case 'blob':
      return new Response(await request.arrayBuffer(), {
        headers: { 'content-type': 'application/octet-stream' },
      })
    case 'form': {
      const form = await request.formData()
      const file = form.get('file') as File
      return Response.json({ name: form.get('name'), file: file.name, text: await file.text() })
    }
    case 'events':
      return new Response(request.body, { headers: { 'content-type': 'text/event-stream' } })
    case 'headers':
      return Response.json(Object.fromEntries(request.headers))
    case 'remember':
      remembered = await request.json()
      return new Response()
    case 'remembered':
      return Response.json(remembered)
    case 'refused':
      return Response.json({ error: 'no such player' }, { status: 422 })
    default:
      return Response.json({
        method: request.method,
        path: url.pathname,
        region: request.headers.get('x-region'),
        forced: url.searchParams.get('forceFunctionRegion'),
        body: request.body === null ? null : await request.json(),
      })
  }
})
