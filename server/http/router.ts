import type { Route } from '../routes.ts'

/** A path that is served, and what can be done there. */
export interface Place {
  realm: string
  byMethod: ReadonlyMap<string, Route>
  /** What Allow says. */
  methods: string
}

const REALMS = '/realms/'

/**
 * Finds what is served at a path, letter by letter: no other case, no closing slash, nothing decoded. The one variable
 * part is the realm, so a path is looked up as it is once that part is taken out.
 */
export function createRouter(routes: readonly Route[]): (path: string) => Place | undefined {
  const places = new Map<string, Omit<Place, 'realm'>>()
  for (const [path, there] of Map.groupBy(routes, (route) => route.path)) {
    const byMethod = new Map(there.map((route) => [route.method as string, route]))
    // RFC 9110 section 9.3.2: HEAD is GET without the content.
    const get = byMethod.get('GET')
    if (get) byMethod.set('HEAD', get)
    places.set(path, { byMethod, methods: [...byMethod.keys(), 'OPTIONS'].join(', ') })
  }

  return (path) => {
    const at = path.indexOf(REALMS)
    if (at < 0) return undefined
    const start = at + REALMS.length
    const slash = path.indexOf('/', start)
    const end = slash < 0 ? path.length : slash
    const place = places.get(`${path.slice(0, start)}:realm${path.slice(end)}`)
    return place && { realm: path.slice(start, end), ...place }
  }
}
