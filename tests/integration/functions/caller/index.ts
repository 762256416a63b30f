// Reads the project's tables with the stock client, as whoever calls.

import { createClient } from '@supabase/supabase-js'

Deno.serve(async (request) => {
  const key = Deno.env.get('SUPABASE_ANON_KEY') ?? ''
  const authorization = request.headers.get('authorization') ?? `Bearer ${key}`
  const client = createClient(Deno.env.get('SUPABASE_URL') ?? '', key, {
    global: { headers: { authorization } },
  })
  const headlines = await client.from('hero_headlines').select('headline').order('order_index')
  const leads = await client.from('contact_submissions').select('id')
  return Response.json({
    headlines: headlines.data?.length,
    leads: leads.data?.length ?? leads.error?.code,
  })
})
