/** Headers of documents that say the same to everybody: kept for five minutes. That any page reads them is the route's. */
export const PUBLIC_DOCUMENT: Readonly<Record<string, string>> = { 'Cache-Control': 'public, max-age=300' }
