import type { Relations } from './relations.ts'
import { keyText } from '../source/resource.ts'
import type { ResourceKey } from '../source/resource.ts'

/** Which resources use what: an index over the relations of all resources. */
export interface RelationIndex {
  /** Replaces the relations of a resource (undefined: it is gone). Returns its `is`, former and present. */
  update(key: ResourceKey, relations: Relations | undefined): string[]
  /** Every resource that uses one of these, once. */
  usersOf(names: Iterable<string>): ResourceKey[]
  /** Every resource that has this among its `is`. */
  holdersOf(name: string): ResourceKey[]
  /** The `is` of a resource. */
  namesOf(key: ResourceKey): string[]
}

interface Entry extends Relations {
  key: ResourceKey
}

export function relationIndex(): RelationIndex {
  const entries = new Map<string, Entry>()
  const users: Entries = new Map()
  const holders: Entries = new Map()

  function update(key: ResourceKey, relations: Relations | undefined): string[] {
    const text = keyText(key)
    const before = entries.get(text)
    if (before) {
      for (const name of before.is) remove(holders, name, before)
      for (const name of before.uses) remove(users, name, before)
      entries.delete(text)
    }
    if (relations) {
      const entry = { key, ...relations }
      entries.set(text, entry)
      for (const name of entry.is) add(holders, name, entry)
      for (const name of entry.uses) add(users, name, entry)
    }
    return [...new Set([...(before?.is ?? []), ...(relations?.is ?? [])])]
  }

  return {
    update,
    usersOf(names) {
      const found = new Set<Entry>()
      for (const name of names) for (const entry of entriesOf(users, name)) found.add(entry)
      return [...found].map(({ key }) => key)
    },
    holdersOf: (name) => [...entriesOf(holders, name)].map(({ key }) => key),
    namesOf: (key) => entries.get(keyText(key))?.is ?? [],
  }
}

/** Most names have one entry. A Set for each would be most of the memory. */
type Entries = Map<string, Entry | Set<Entry>>

function entriesOf(map: Entries, name: string): Iterable<Entry> {
  const present = map.get(name)
  if (present === undefined) return []
  return present instanceof Set ? present : [present]
}

function add(map: Entries, name: string, entry: Entry): void {
  const present = map.get(name)
  if (present === undefined) map.set(name, entry)
  else if (present instanceof Set) present.add(entry)
  else if (present !== entry) map.set(name, new Set([present, entry]))
}

function remove(map: Entries, name: string, entry: Entry): void {
  const present = map.get(name)
  if (present instanceof Set) present.delete(entry)
  if (present === entry || (present instanceof Set && present.size === 0)) map.delete(name)
}
