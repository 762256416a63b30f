// Counts the caller's open todos, once through the API as the caller and once in SQL as the database's owner.

import postgres from 'postgres'

const sql = postgres(Deno.env.get('SUPABASE_DB_URL')!)

Deno.serve(async (request) => {
  const url = `${Deno.env.get('SUPABASE_URL')}/rest/v1/todos?select=id&state=eq.open`
  const seen = await fetch(url, {
    headers: {
      apikey: Deno.env.get('SUPABASE_ANON_KEY')!,
      authorization: request.headers.get('authorization')!,
    },
  })
  const [row] =
    await sql`select count(*)::int as todos, current_user as role from public.todos where state = 'open'`
  return Response.json({ mine: (await seen.json()).length, all: row.todos, role: row.role })
})
