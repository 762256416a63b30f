import { randomUUID } from 'node:crypto'

import { describe, expect, test } from 'vitest'

import { service, visitor } from './clients.ts'

describe('reads', () => {
  test('a list is filtered, ordered and limited', async () => {
    const { data, error } = await visitor()
      .from('faqs')
      .select('question, order_index')
      .contains('labels', ['Data'])
      .order('order_index')
      .limit(3)
    expect(error).toBeNull()
    expect(data).toHaveLength(3)
    const order = data?.map((faq) => faq.order_index) ?? []
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  })

  test('a to-one embed carries its filter', async () => {
    const { data, error } = await visitor()
      .from('testimonial_page_orders')
      .select('order_index, testimonials!inner(name, role, is_visible)')
      .eq('page_name', 'home')
      .eq('testimonials.is_visible', true)
      .order('order_index')
    expect(error).toBeNull()
    expect(data).toHaveLength(8)
    expect(data?.[0]?.testimonials.name).toEqual(expect.any(String))
  })

  test('single and maybeSingle tell one row from none', async () => {
    const one = await visitor().from('settings').select('value').eq('key', 'site_name').single()
    expect(one.data?.value).toEqual(expect.any(String))
    const none = await visitor().from('settings').select('value').eq('key', 'no_such_key').single()
    expect(none.error?.code).toBe('PGRST116')
    expect(none.status).toBe(406)
    const maybe = await visitor()
      .from('settings')
      .select('value')
      .eq('key', 'no_such_key')
      .maybeSingle()
    expect(maybe).toMatchObject({ data: null, error: null })
  })

  test('an exact count comes with the page', async () => {
    const { data, count } = await visitor()
      .from('faqs')
      .select('id', { count: 'exact' })
      .range(0, 4)
    expect(data).toHaveLength(5)
    expect(count).toBe(18)
  })

  test('an unknown table, column and relationship are named', async () => {
    const outside = visitor() as unknown as ReturnType<
      typeof import('@supabase/supabase-js').createClient
    >
    const table = await outside.from('faq').select()
    expect(table.error).toMatchObject({ code: 'PGRST205' })
    expect(table.error?.hint).toContain('faqs')
    expect(table.status).toBe(404)
    const column = await outside.from('faqs').select('quest')
    expect(column.error).toMatchObject({ code: '42703' })
    const relation = await outside.from('faqs').select('id, job_openings(id)')
    expect(relation.error).toMatchObject({ code: 'PGRST200' })
  })
})

describe('row-level security', () => {
  test('visitors subscribe once, and read nobody', async () => {
    const email = `fan-${randomUUID()}@club.example`
    const row = { email, consent_given: true, ip_address: null, user_id: null }
    const first = await visitor().from('newsletter_subscriptions').insert(row)
    expect(first).toMatchObject({ error: null, status: 201 })
    const second = await visitor().from('newsletter_subscriptions').insert(row)
    expect(second.error?.code).toBe('23505')
    expect(second.status).toBe(409)
    const read = await visitor().from('newsletter_subscriptions').select('email')
    expect(read.data ?? []).toEqual([])
    const kept = await service()
      .from('newsletter_subscriptions')
      .delete()
      .eq('email', email)
      .select('email')
    expect(kept.data).toEqual([{ email }])
  })

  test('visitors see visible rows only, and change none', async () => {
    const { data: hidden } = await service()
      .from('faqs')
      .insert({
        question: 'Is this shown?',
        answer: 'No, it is hidden.',
        labels: ['Data'],
        is_visible: false,
      })
      .select('id')
      .single()
    try {
      const { data } = await visitor().from('faqs').select('id').eq('question', 'Is this shown?')
      expect(data).toEqual([])
      const { status } = await visitor()
        .from('faqs')
        .update({ is_visible: true })
        .neq('question', '')
      expect(status).toBe(401)
    } finally {
      await service()
        .from('faqs')
        .delete()
        .eq('id', hidden?.id ?? '')
    }
  })

  test('a setting cannot be planted', async () => {
    const planted = {
      key: 'contact_email',
      value: 'thief@evil.example',
      category: 'site',
      description: '',
    }
    const { error } = await visitor().from('settings').insert(planted)
    expect(error).not.toBeNull()
  })
})

test('a function is called with named parameters', async () => {
  const { data, error } = await service().rpc('validate_session_integrity', {
    user_id: randomUUID(),
  })
  expect(error).toBeNull()
  expect(data).toBe(false)
})
