import type { Relations } from './relations.ts'
import { keyText } from '../source/resource.ts'
import type { ResourceKey } from '../source/resource.ts'

/** Which resources use what: an index over the relations of all resources. */
export interface RelationIndex {
  /** Replaces the relations of a resource (undefined: it is gone). Returns its names, former and present. */
  update(key: ResourceKey, resource: IndexedResource | undefined): string[]
  /** Every resource that uses one of these, once. */
  usersOf(names: Iterable<string>): ResourceKey[]
  /** Every resource that has this among its names. */
  holdersOf(name: string): ResourceKey[]
  /** The resources that claim a name, in the order of `age`. */
  claimantsOf(name: string): readonly Claimant[]
  /** The names of a resource: its `is` and its `claims`. */
  namesOf(key: ResourceKey): string[]
}

export interface IndexedResource extends Relations {
  uid: string
  /** Texts of two resources compare as their ages. */
  age: string
}

export interface Claimant {
  key: ResourceKey
  uid: string
}

interface Entry extends IndexedResource {
  key: ResourceKey
}

export function relationIndex(): RelationIndex {
  const entries = new Map<string, Entry>()
  const users: Entries = new Map()
  const holders: Entries = new Map()
  /** Sorted. Most names have one claimant; thousands for one name are misuse, and each event must stay cheap then. */
  const claimants = new Map<string, Entry[]>()

  function update(key: ResourceKey, resource: IndexedResource | undefined): string[] {
    const text = keyText(key)
    const before = entries.get(text)
    if (before) {
      for (const name of before.is) remove(holders, name, before)
      for (const name of before.uses) remove(users, name, before)
      for (const name of before.claims) removeSorted(claimants, name, before)
      entries.delete(text)
    }
    if (resource) {
      const entry = { key, ...resource }
      entries.set(text, entry)
      for (const name of entry.is) add(holders, name, entry)
      for (const name of entry.uses) add(users, name, entry)
      for (const name of entry.claims) addSorted(claimants, name, entry)
    }
    return [...new Set([...namesOf(before), ...namesOf(resource)])]
  }

  return {
    update,
    usersOf(names) {
      const found = new Set<Entry>()
      for (const name of names) for (const entry of entriesOf(users, name)) found.add(entry)
      return [...found].map(({ key }) => key)
    },
    holdersOf: (name) => [...entriesOf(holders, name), ...(claimants.get(name) ?? [])].map(({ key }) => key),
    claimantsOf: (name) => claimants.get(name) ?? [],
    namesOf: (key) => namesOf(entries.get(keyText(key))),
  }
}

function namesOf(resource: Relations | undefined): string[] {
  return resource ? [...resource.is, ...resource.claims] : []
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

function addSorted(map: Map<string, Entry[]>, name: string, entry: Entry): void {
  const present = map.get(name)
  if (!present) map.set(name, [entry])
  else if (!present.includes(entry)) present.splice(positionOf(present, entry), 0, entry)
}

function removeSorted(map: Map<string, Entry[]>, name: string, entry: Entry): void {
  const present = map.get(name)
  const at = present?.indexOf(entry) ?? -1
  if (at !== -1) present?.splice(at, 1)
  if (present?.length === 0) map.delete(name)
}

/** Where an entry belongs in a sorted list: the number of entries that are older. */
function positionOf(sorted: readonly Entry[], { age }: Entry): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle]?.age ?? '') < age) low = middle + 1
    else high = middle
  }
  return low
}
