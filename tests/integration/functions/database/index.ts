// Asks the database by the URL that the platform gives, with each of the clients that most functions use.

import { Client } from 'pg'
import postgres from 'postgres'

const url = Deno.env.get('SUPABASE_DB_URL') ?? ''
const question =
  'select current_database() as database, count(*)::int as headlines from public.hero_headlines'

Deno.serve(async () => {
  const sql = postgres(url, { max: 1 })
  const client = new Client({ connectionString: url })
  try {
    const [ofPostgres] = await sql.unsafe(question)
    await client.connect()
    const { rows } = await client.query(question)
    return Response.json({ ofPostgres, ofPg: rows[0] })
  } finally {
    await Promise.all([sql.end(), client.end()])
  }
})
