// A stream of events: the first one comes at once, each further one when it is asked for.

const encoder = new TextEncoder()
let stream: ReadableStreamDefaultController<Uint8Array> | undefined
let count = 0

function send() {
  count += 1
  stream?.enqueue(encoder.encode(`data: ${count}\n\n`))
}

Deno.serve((request) => {
  switch (new URL(request.url).pathname.split('/')[2]) {
    case 'next':
      send()
      return new Response()
    case 'end':
      stream?.close()
      return new Response()
    default: {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          stream = controller
          count = 0
          send()
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }
  }
})
