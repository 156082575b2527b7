import { ANY_ORIGIN } from '../cors.ts'

/** Headers of documents that say the same to everybody: any origin, no credentials, for five minutes. */
export const PUBLIC_DOCUMENT: Readonly<Record<string, string>> = {
  ...ANY_ORIGIN,
  'Cache-Control': 'public, max-age=300',
}
