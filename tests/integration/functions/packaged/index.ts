// Greets with a package of JSR, imported by its name and by that of an import map.

import { greet } from 'greeting'
// deno-lint-ignore no-import-prefix -- this is how most functions do it
import { greet as greetToo } from 'jsr:@basalt/greeting@^1.2'

Deno.serve(async (request) => {
  const { name } = await request.json()
  return Response.json({ mapped: greet(name), named: greetToo(name) })
})
