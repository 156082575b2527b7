import { LRUCache } from 'lru-cache'
import type { Db } from '../../store/db.ts'
import { hashParameters } from '../../store/password_hash.ts'
import type { PasswordHashing } from '../../store/realms.ts'
import { listHashHeads } from '../../store/users.ts'

/** The parameters that the realm's stored hashes have, and the present ones, in a fixed order. */
export type ParametersInUse = (realm: string, present: PasswordHashing) => Promise<PasswordHashing[]>

const MAX_REALMS = 1_000
/** The list reads every user of a realm, and grows only when the realm's parameters change. */
const FRESH_MILLIS = 300_000

/** Reads them once for each realm and its present parameters; later readings happen in the background. */
export function parametersInUse(db: Db): ParametersInUse {
  const lists = new LRUCache<string, PasswordHashing[], { realm: string; present: PasswordHashing }>({
    max: MAX_REALMS,
    ttl: FRESH_MILLIS,
    allowStale: true,
    noDeleteOnFetchRejection: true,
    async fetchMethod(_key, _stale, { context: { realm, present } }) {
      const stored = (await listHashHeads(db, realm)).map((head) => hashParameters(`${head}${ANY_SALT_AND_HASH}`))
      const all = [present, ...stored].filter((each) => each !== undefined)
      const byText = new Map(all.map((each) => [textOf(each), each]))
      return [...byText].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each)
    },
  })
  return (realm, present) => lists.forceFetch(`${realm} ${textOf(present)}`, { context: { realm, present } })
}

const ANY_SALT_AND_HASH = `${'A'.repeat(22)}$${'A'.repeat(43)}`

/** As a hash in PHC text has them. */
export function textOf({ memoryKiB, iterations, parallelism }: PasswordHashing): string {
  return `m=${memoryKiB},t=${iterations},p=${parallelism}`
}
