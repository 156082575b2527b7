/** The issuer of a realm's tokens. It does not depend on the path or Host of a request. */
export function issuerOf(baseUrl: string, realm: string): string {
  return `${baseUrl}/auth/realms/${realm}`
}

export function tokenEndpointOf(issuer: string): string {
  return `${issuer}/protocol/openid-connect/token`
}
