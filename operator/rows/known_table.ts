import { pathOf } from '../view/resource_types.ts'

/** What is remembered of a row: enough to know whether it has to be written, little enough for many of them. */
export interface KnownRow {
  resourceUid: string
  namespace: string
  name: string
  realm: string
  digest: string
}

/** The resource that a row is made from. */
export type RowSource = Pick<KnownRow, 'resourceUid' | 'namespace' | 'name'>

/** Rows of one table, by uid of their resource. */
export interface Known<Fact extends KnownRow, Row> {
  get(resourceUid: string): Fact | undefined
  /** The row made last of a resource of this `namespace/name`, be it the present one's or that of a former one. */
  atPath(path: string): Fact | undefined
  all(): Iterable<Fact>
  /** Runs what writes or deletes a row, and says so by `written` or `gone`: a load meanwhile leaves the row alone. */
  write<Result>(resourceUid: string, work: () => Promise<Result>): Promise<Result>
  /** After a row was written, and committed. */
  written(row: Row): void
  /** Replaces what is remembered of a row that did not change. */
  amend(fact: Fact): void
  /** After a row was deleted, or found to be missing. */
  gone(resourceUid: string): void
}

export interface KnownTable<Fact extends KnownRow, Row> extends Known<Fact, Row> {
  /** uid of the resource whose row holds a name, of the names given when the table was made. */
  ownerOf(which: number, name: string): string | undefined
  /** What is written or deleted from now on is newer than what a load reads. */
  beginLoad(): (rows: Row[]) => string[]
}

export interface KnownTableOptions<Fact extends KnownRow, Row> {
  /** What a row of it is called when it is said that somebody changed it. */
  what: string
  factOf: (row: Row) => Fact
  /** Names that one row of the table can have. */
  names: ((fact: Fact) => string)[]
  /** What to remember of a row that was read anew, and whether somebody else changed it. */
  compare: (before: Fact, read: Fact) => { fact: Fact; isDrift: boolean }
}

export function knownTable<Fact extends KnownRow, Row>({
  what,
  factOf,
  names,
  compare,
}: KnownTableOptions<Fact, Row>): KnownTable<Fact, Row> {
  const facts = new Map<string, Fact>()
  const owners = names.map(() => new Map<string, string>())
  const paths = new Map<string, string>()
  const inFlight = new Set<string>()
  let touched: Set<string> | undefined
  let isLoaded = false

  function put(fact: Fact): void {
    remove(fact.resourceUid)
    facts.set(fact.resourceUid, fact)
    paths.set(pathOf(fact), fact.resourceUid)
    names.forEach((nameOf, which) => owners[which]?.set(nameOf(fact), fact.resourceUid))
  }

  function remove(uid: string): void {
    const fact = facts.get(uid)
    if (!fact) return
    facts.delete(uid)
    if (paths.get(pathOf(fact)) === uid) paths.delete(pathOf(fact))
    names.forEach((nameOf, which) => {
      // Another resource may have taken the name over meanwhile.
      if (owners[which]?.get(nameOf(fact)) === uid) owners[which].delete(nameOf(fact))
    })
  }

  return {
    get: (uid) => facts.get(uid),
    atPath: (path) => facts.get(paths.get(path) ?? ''),
    all: () => facts.values(),
    ownerOf: (which, name) => owners[which]?.get(name),
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
    gone(uid) {
      touched?.add(uid)
      remove(uid)
    },
    beginLoad() {
      const newer = new Set<string>()
      touched = newer
      return (rows) => {
        touched = undefined
        for (const uid of inFlight) newer.add(uid)
        const read = new Map(rows.map((row) => factOf(row)).map((fact) => [fact.resourceUid, fact]))
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
    },
  }
}
