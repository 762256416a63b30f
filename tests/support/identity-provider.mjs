import { selfSigned } from './certificate.mjs'

/**
 * Returns the metadata of an identity provider (SAML 2.0) of a host, with a certificate of its own.
 *
 * @param {string} host
 */
export function identityProvider(host) {
  const certificate = selfSigned(host).certificate.replace(/-----[A-Z ]+-----|\s/g, '')
  return `<?xml version="1.0"?>
<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://${host}/metadata">
  <IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>
      <X509Certificate>${certificate}</X509Certificate>
    </X509Data></KeyInfo></KeyDescriptor>
    <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
      Location="https://${host}/sso"/>
  </IDPSSODescriptor>
</EntityDescriptor>
`
}
