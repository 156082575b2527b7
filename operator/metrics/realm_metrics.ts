import { Gauge } from 'prom-client'
import type { RealmStatus } from '../../crds/realm.gen.ts'
import type { Resource } from '../source/resource.ts'
import { realmName } from '../view/resource_types.ts'
import type { RealmResource } from '../view/resource_types.ts'

/** When something of a realm has to be renewed. */
export interface RealmTimes {
  licenseExpiresAt?: Date | undefined
  /** When the key in use of each kind is to be replaced. */
  keyDueAt: Partial<Record<KeyKind, Date>>
}

const KEY_KINDS = ['signing', 'refresh', 'encryption'] as const
type KeyKind = (typeof KEY_KINDS)[number]

/** Bounds the number of series; the realms of the first names are shown. */
const MAX_REALMS = 1_000

const DAY_MILLIS = 86_400_000

/** When the keys in use are to be replaced, by `status.keys` and the rotation periods of the Realm. */
export function keysDueAt({ spec }: RealmResource, keys: RealmStatus['keys']): RealmTimes['keyDueAt'] {
  const { signingKeyPeriodDays, encryptionKeyPeriodDays } = spec.keyRotation
  const inUse = {
    signing: [keys?.signing?.find(({ state }) => state === 'active')?.since, signingKeyPeriodDays],
    refresh: [keys?.refresh?.find(({ state }) => state === 'active')?.since, signingKeyPeriodDays],
    encryption: [keys?.encryption?.find(({ state }) => state === 'primary')?.since, encryptionKeyPeriodDays],
  } as const
  return Object.fromEntries(
    KEY_KINDS.flatMap((kind) => {
      const [since, days] = inUse[kind]
      return since === undefined ? [] : [[kind, new Date(Date.parse(since) + days * DAY_MILLIS)]]
    }),
  )
}

/** Gauges with a label for each realm, of the Realms that exist. */
export function realmMetrics(realms: () => Resource[], timesOf: (uid: string) => RealmTimes | undefined): Gauge[] {
  const shown = (): { realm: string; times: RealmTimes }[] =>
    realms()
      .flatMap((resource) => {
        const times = timesOf(resource.metadata.uid)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
        return times ? [{ realm: realmName(resource as RealmResource), times }] : []
      })
      .toSorted((a, b) => (a.realm < b.realm ? -1 : 1))
      .slice(0, MAX_REALMS)
  return [
    new Gauge({
      name: 'realmkeeper_license_expiry_timestamp_seconds',
      help: 'When the valid license of a realm expires, as Unix time',
      labelNames: ['realm'],
      registers: [],
      collect() {
        this.reset()
        for (const { realm, times } of shown()) {
          if (times.licenseExpiresAt) this.set({ realm }, times.licenseExpiresAt.getTime() / 1_000)
        }
      },
    }),
    new Gauge({
      name: 'realmkeeper_key_rotation_due_timestamp_seconds',
      help: 'When the key in use of a realm is due for rotation, as Unix time',
      labelNames: ['realm', 'kind'],
      registers: [],
      collect() {
        this.reset()
        for (const { realm, times } of shown()) {
          for (const kind of KEY_KINDS) {
            const at = times.keyDueAt[kind]
            if (at) this.set({ realm, kind }, at.getTime() / 1_000)
          }
        }
      },
    }),
  ]
}
