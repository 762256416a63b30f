// To be deployed without verification of tokens: whoever calls it gets a response. A WebSocket gets back what it sends.
export default {
  fetch(request: Request): Response {
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      const authorization = request.headers.get('authorization')
      return Response.json({ open: true, authorization })
    }
    const { socket, response } = Deno.upgradeWebSocket(request)
    socket.binaryType = 'arraybuffer'
    socket.onmessage = ({ data }) => {
      if (data === 'close') socket.close(4001, 'as asked')
      else socket.send(data)
    }
    return response
  },
}
