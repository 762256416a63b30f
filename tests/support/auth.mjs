/** The client that the tests' OpenID provider knows. */
export const CLIENT = { id: 'terrace', secret: 'a-secret-of-these-tests' }

/** The phone numbers whose codes are known, by the code. */
export const PHONES = ['15550100001', '15550100002', '15550100003', '15550100004', '15550100005']

/** The code that every one of them is sent. */
export const PHONE_CODE = '424242'

/**
 * Settings under which every way to sign in can be tried, as often as tests please.
 * @param {string} provider the URL of the OpenID provider
 * @param {string} page the origin of pages that clients come from
 * @returns {Record<string, string>}
 */
export function everyWayIn(provider, page) {
  const limits = [
    'OTP',
    'TOKEN_REFRESH',
    'VERIFY',
    'ANONYMOUS_USERS',
    'PASSKEY',
    'WEB3',
    'SMS_SENT',
  ]
  return {
    GOTRUE_URI_ALLOW_LIST: `http://127.0.0.1:5173/**,${page}/**`,
    GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
    GOTRUE_SMS_AUTOCONFIRM: 'false',
    GOTRUE_SMS_TEST_OTP: PHONES.map((phone) => `${phone}:${PHONE_CODE}`).join(','),
    GOTRUE_EXTERNAL_KEYCLOAK_ENABLED: 'true',
    GOTRUE_EXTERNAL_KEYCLOAK_CLIENT_ID: CLIENT.id,
    GOTRUE_EXTERNAL_KEYCLOAK_SECRET: CLIENT.secret,
    GOTRUE_EXTERNAL_KEYCLOAK_URL: provider,
    GOTRUE_EXTERNAL_WEB3_SOLANA_ENABLED: 'true',
    GOTRUE_OAUTH_SERVER_ENABLED: 'true',
    GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
    // What is used a second time is judged as used, however soon that is.
    GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '0',
    GOTRUE_MFA_PHONE_ENROLL_ENABLED: 'true',
    GOTRUE_MFA_PHONE_VERIFY_ENABLED: 'true',
    GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
    GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true',
    GOTRUE_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
    GOTRUE_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
    GOTRUE_PASSKEY_ENABLED: 'true',
    GOTRUE_WEBAUTHN_RP_ID: 'localhost',
    GOTRUE_WEBAUTHN_RP_ORIGINS: page,
    GOTRUE_SMTP_MAX_FREQUENCY: '0s',
    GOTRUE_SMS_MAX_FREQUENCY: '0s',
    GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '1000000',
    ...Object.fromEntries(limits.map((name) => [`GOTRUE_RATE_LIMIT_${name}`, '1000000'])),
  }
}
