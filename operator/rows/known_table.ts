import { pathOf } from '../view/resource_types.ts'

/** What memory holds of a row: enough to know whether it must be written, and small, because there are many. */
export interface KnownRow {
  resourceUid: string
  namespace: string
  name: string
  realm: string
  digest: string
}

/** The resource that a row is written for. */
export type RowSource = Pick<KnownRow, 'resourceUid' | 'namespace' | 'name'>

/** The rows of one table as last read or written, by uid of their resource. */
export interface Known<Fact extends KnownRow, Row> {
  get(resourceUid: string): Fact | undefined
  /** The row written last for a resource of this `namespace/name`: the present resource or a former one. */
  atPath(path: string): Fact | undefined
  all(): Iterable<Fact>
  /** Runs `work`, which writes or deletes a row and calls `written` or `deleted`. A load meanwhile leaves this row alone. */
  write<Result>(resourceUid: string, work: () => Promise<Result>): Promise<Result>
  /** To be called after the commit. */
  written(row: Row): void
  /** Replaces the memory of a row that did not change. */
  amend(fact: Fact): void
  /** To be called after the commit, and when the row turns out to be missing. */
  deleted(resourceUid: string): void
}

export interface KnownTable<Fact extends KnownRow, Row> extends Known<Fact, Row> {
  /** uid of the resource whose row has a unique name, one of `options.names`. */
  ownerOf(name: string): string | undefined
  /**
   * To be called before all rows are read, page by page. `finish` returns the drift. Rows that are written or deleted
   * before it are ignored, because the read may be older.
   */
  beginLoad(): { take(rows: Row[]): void; finish(): string[] }
}

export interface KnownTableOptions<Fact extends KnownRow, Row> {
  /** What drift messages call a row. */
  what: string
  factOf: (row: Row) => Fact
  /** The names of a row that are unique in the table. */
  names: (fact: Fact) => string[]
  /** Compares a row read with the one in memory: what to remember, and whether another client changed it. */
  compare: (before: Fact, read: Fact) => { fact: Fact; isDrift: boolean }
}

export function knownTable<Fact extends KnownRow, Row>({
  what,
  factOf,
  names,
  compare,
}: KnownTableOptions<Fact, Row>): KnownTable<Fact, Row> {
  const facts = new Map<string, Fact>()
  /** uid by name. */
  const owners = new Map<string, string>()
  const inFlight = new Set<string>()
  let touched: Set<string> | undefined
  let isLoaded = false

  const namesOf = (fact: Fact): string[] => [pathName(pathOf(fact)), ...names(fact)]

  function put(fact: Fact): void {
    remove(fact.resourceUid)
    facts.set(fact.resourceUid, fact)
    for (const name of namesOf(fact)) owners.set(name, fact.resourceUid)
  }

  function remove(uid: string): void {
    const fact = facts.get(uid)
    if (!fact) return
    facts.delete(uid)
    // Another resource may have taken a name over.
    for (const name of namesOf(fact)) if (owners.get(name) === uid) owners.delete(name)
  }

  return {
    get: (uid) => facts.get(uid),
    atPath: (path) => facts.get(owners.get(pathName(path)) ?? ''),
    all: () => facts.values(),
    ownerOf: (name) => owners.get(name),
    async write(uid, work) {
      inFlight.add(uid)
      try {
        return await work()
      } finally {
        inFlight.delete(uid)
        touched?.add(uid)
      }
    },
    amend(fact) {
      if (facts.has(fact.resourceUid)) put(fact)
    },
    written(row) {
      const fact = factOf(row)
      touched?.add(fact.resourceUid)
      put(fact)
    },
    deleted(uid) {
      touched?.add(uid)
      remove(uid)
    },
    beginLoad() {
      const newer = new Set<string>()
      touched = newer
      const read = new Map<string, Fact>()
      function take(rows: Row[]): void {
        for (const fact of rows.map(factOf)) read.set(fact.resourceUid, fact)
      }
      function finish(): string[] {
        touched = undefined
        for (const uid of inFlight) newer.add(uid)
        const drift: string[] = []
        for (const fact of facts.values()) {
          if (newer.has(fact.resourceUid) || read.has(fact.resourceUid)) continue
          drift.push(`${what} ${fact.namespace}/${fact.name}: the row is missing`)
          remove(fact.resourceUid)
        }
        for (const fact of read.values()) {
          if (newer.has(fact.resourceUid)) continue
          const before = facts.get(fact.resourceUid)
          if (isLoaded && !before) drift.push(`${what} ${fact.namespace}/${fact.name}: the row is not the operator's`)
          const compared = before && compare(before, fact)
          if (compared?.isDrift) drift.push(`${what} ${fact.namespace}/${fact.name}: the row was changed`)
          put(compared?.fact ?? fact)
        }
        isLoaded = true
        return drift
      }
      return { take, finish }
    },
  }
}

function pathName(path: string): string {
  return `path ${path}`
}
