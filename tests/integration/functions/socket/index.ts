// Sends back every message of a WebSocket, and closes it on request.

Deno.serve((request) => {
  if (request.headers.get('upgrade') !== 'websocket') return new Response(null, { status: 426 })
  const { socket, response } = Deno.upgradeWebSocket(request, { protocol: 'chant' })
  const { searchParams } = new URL(request.url)
  socket.onopen = () => socket.send(`hello ${searchParams.get('name') ?? 'you'}`)
  socket.onmessage = ({ data }) => {
    if (data === 'crash') Deno.exit(1)
    if (data === 'close') socket.close(4001, 'as you wish')
    else socket.send(data)
  }
  return response
})
