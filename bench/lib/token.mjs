import { createHmac } from 'node:crypto'

/** Returns a JWT of `claims`, signed with HS256. Source: RFC 7515, section 3.1. */
export function token(claims, secret) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
