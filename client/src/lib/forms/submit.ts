import { csrfToken } from './csrf-token'
import { getSupabase } from '@/lib/supabase/get-supabase'

/** The edge function that receives submitted forms. */
const FUNCTION_NAME = 'contact-notification'

/** Sends a form's record to the team. Throws with the function's message if it is not accepted. */
export async function submitRecord(
  type: 'contact_submission' | 'job_application',
  record: { id: string } & Record<string, string | null>,
) {
  const supabase = await getSupabase()
  const response = await supabase.functions.invoke<unknown>(FUNCTION_NAME, {
    body: { record, csrf_token: csrfToken(), type },
  })
  if (response.error) throw response.error as Error
}

/** Returns an identity for a record (a version 4 UUID), so that one that is sent twice is kept once. */
export function recordId() {
  // crypto.randomUUID exists on secure pages only, and a site may be tried out on plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
