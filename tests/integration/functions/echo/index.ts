// Sends back what it was sent, in the form that the path names.

let remembered: unknown = null

Deno.serve(async (request) => {
  const url = new URL(request.url)
  switch (url.pathname.split('/')[2]) {
    case 'headers':
      return Response.json(Object.fromEntries(request.headers))
    case 'remember':
      remembered = await request.json()
      return new Response()
    case 'remembered':
      return Response.json(remembered)
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
