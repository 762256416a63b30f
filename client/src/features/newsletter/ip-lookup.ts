import { IP_LOOKUP } from '@/lib/constants'

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/
const IPV6_CHARACTERS = /^[0-9a-f:.]{2,45}$/i

function isIpv6(text: string) {
  if (!IPV6_CHARACTERS.test(text)) return false
  try {
    // Addresses of the web have the whole grammar of RFC 4291 between brackets.
    return new URL(`http://[${text}]/`).hostname !== ''
  } catch {
    return false
  }
}

/** Returns whether the text has the shape of an internet address of version 4 or 6. */
export function isIpAddress(text: unknown): text is string {
  return typeof text === 'string' && (IPV4.test(text) || isIpv6(text))
}

/**
 * Returns the address under which the internet sees this browser, as a proof of consent; null if it cannot be
 * found.
 */
export async function lookUpIp(): Promise<string | null> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), IP_LOOKUP.timeoutMs)
  try {
    const response = await fetch(IP_LOOKUP.url, {
      // Makes the browser send "Cache-Control: no-cache" without the preflight that a custom header would need.
      cache: 'no-store',
      credentials: 'omit',
      signal: limit.signal,
    })
    const body: unknown = await response.json()
    const ip = typeof body === 'object' && body !== null && 'ip' in body ? body.ip : null
    return isIpAddress(ip) ? ip : null
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}
