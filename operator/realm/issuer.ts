/** The issuer of a realm's tokens, whatever path or host a request used. */
export function issuerOf(baseUrl: string, realm: string): string {
  return `${baseUrl}/auth/realms/${realm}`
}

export function tokenEndpointOf(issuer: string): string {
  return `${issuer}/protocol/openid-connect/token`
}
