import type { RealmStatus } from '../../crds/realm.gen.ts'
import { issuerOf } from '../../process/issuer.ts'
import { findKeyringRecord } from '../../store/keyring_records.ts'
import { withinBounds } from '../../store/password_hash.ts'
import { findRealm } from '../../store/realms.ts'
import { findDefaultRoles, realmAdminUntil } from '../../store/role_assignments.ts'
import type { EncryptionField, EncryptionPreconditions, RealmRow } from '../../store/realms.ts'
import { heldResult, isPaused } from '../controller/paused.ts'
import { notReady, ready } from '../controller/reconciler.ts'
import type { Reconciler } from '../controller/reconciler.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { keysDueAt } from '../metrics/realm_metrics.ts'
import { enforcementCondition } from '../enforcement/approval_enforcement.ts'
import type { KnownRow } from '../rows/known_table.ts'
import type { SecretName } from '../source/resource_source.ts'
import { relation } from '../view/relations.ts'
import { pathOf, realmName } from '../view/resource_types.ts'
import type { RealmResource } from '../view/resource_types.ts'
import type { View } from '../view/view.ts'
import { encryptionCondition, hashingConditions, preconditionConditions, preconditions } from './conditions.ts'
import { deletesKeys, reconcileGovernance } from './governance/reconcile_governance.ts'
import { fieldsPaired, fieldStatus, pairOf, specFields } from './fields.ts'
import { isLeaving, nameTaken, ownerOf, recordTransfer } from './keyring/keyring_owner.ts'
import { keyringSpec } from './keyring/keyring_spec.ts'
import { keyringStatus, keysCondition } from './keyring/keyring_status.ts'
import { keyringAt, readKeyring } from './keyring/read_keyring.ts'
import { reconcileKeyring } from './keyring/reconcile_keyring.ts'
import type { KeyringResult } from './keyring/reconcile_keyring.ts'
import { licenseState } from './license.ts'
import { removeRealm, saveRealm, withdrawRealm } from './rows.ts'

/** Keeps one row of `realms` equal to one Realm resource, and reconciles its keyring. */
export function realmReconciler(deps: ReconcilerDeps): Reconciler<'Realm'> {
  const { store, rows, secrets, keyringNamespace } = deps
  return {
    async reconcile(realm, view) {
      const name = realmName(realm)
      const { uid } = realm.metadata
      const refuse = async (reason: string, message: string) => {
        const refusalChanged = rows.refuseRealm(uid, reason)
        const changed = (await withdrawRealm(deps, uid)) || refusalChanged
        return notReady(reason, message, { changed, fields: CLEARED_FIELDS })
      }
      if (isReserved(name)) {
        return refuse('RealmNameRefused', `the realm name "${name}" is reserved or is not a DNS label`)
      }

      const at = keyringAt(keyringNamespace, name)
      const read = await readKeyring(secrets, at, name)
      const present = await findKeyringRecord(store.db, name)
      const known = rows.realms.get(rows.realmOwner(name) ?? '')
      // A Realm that is not watched keeps its name.
      const isElsewhere = known !== undefined && !view.covers(known.namespace)
      const owner = isElsewhere ? pathOf(known) : ownerOf(realm, present, known, read, view)
      if (owner !== pathOf(realm.metadata)) return refuse('RealmNameTaken', nameTaken(name, owner, realm))
      const record = await recordTransfer(realm, present, known, read, deps)
      await removeFormer(name, realm, view)

      const now = store.now()
      const governed = await reconcileGovernance(realm, deps)
      const license = await licenseState(realm, name, now, deps)
      const adminUntil = await realmAdminUntil(store.db, name, now)
      const preconditionStates = preconditionConditions(governed.governance, license, adminUntil)
      const encryption = preconditions(preconditionStates, license, adminUntil)
      if (isPaused(realm)) {
        const isWithdrawn = await withdrawEncryption(name, uid, encryption)
        return heldResult(realm, isWithdrawn || governed.changed)
      }
      const wanted = specFields(realm)
      const needsEncryptionKey = wanted.length > 0 && encryption.missing.length === 0
      const spec = keyringSpec(realm, wanted, needsEncryptionKey, view)
      const keyring = await reconcileKeyring(at, read, spec, record, deps)
      const fields = await servedFields(name, wanted, keyring)

      const rowChanged = await saveRealm(deps, desiredRow(realm, at, fields, encryption))
      const refusalChanged = rows.refuseRealm(uid, undefined)

      const keys = keysCondition(keyring)
      const conditions = [
        keys,
        ...preconditionStates,
        enforcementCondition(deps.approvalEnforcement()),
        ...hashingConditions(realm),
        governed.condition,
        encryptionCondition(preconditionStates, {
          wanted: wanted.length,
          refused: keyring.fields.refused,
          unlisted: keyring.isExternal
            ? wanted.filter((field) => !fields.includes(field)).map((field) => field.name)
            : [],
          keysProblem: keyring.problem,
          hasPrimaryKey: keyring.keyring?.encryption.some(({ state }) => state === 'primary') === true,
        }),
      ]
      const keysInStatus = keyringStatus(keyring, realm.status?.keys)
      deps.metrics.realmExpires(uid, {
        licenseExpiresAt: license.expiresAt,
        keyDueAt: keysDueAt(realm, keysInStatus),
      })
      const issuer = issuerOf(deps.baseUrl, name)
      const requeueAt = earliest([keyring.recheckAt, license.changesAt, adminUntil ?? undefined])
      const rest = {
        conditions,
        changed: rowChanged || refusalChanged || isLeaving(realm, view) || governed.changed,
        ...(requeueAt && { requeueAt }),
        detail: [license.detail, keyring.problem?.detail].filter(Boolean).join('; ') || undefined,
        fields: {
          issuer,
          defaultRoles: await findDefaultRoles(store.db, name, now),
          encryptionFields: fieldStatus(fields),
          keys: keysInStatus,
        } satisfies RealmStatus,
      }
      if (keys.status !== 'True') return notReady(keys.reason, keys.message, rest)
      return ready('Available', `realm "${name}" is served as ${issuer}`, rest)
    },

    async finalize(realm, view) {
      const { uid } = realm.metadata
      rows.refuseRealm(uid, undefined)
      const name = heldName(realm, view)
      // Rows and keys of a name that this Realm does not hold belong to another Realm.
      if (name === undefined) return
      // Without a row it is unknown whether the keyring is this Realm's, so it stays. The Secret is deleted first: once
      // the row is gone, nothing refers to it.
      const withKeys = rows.realms.get(uid) !== undefined && (await deletesKeys(realm, deps))
      if (withKeys) await secrets.delete(keyringAt(keyringNamespace, name))
      await removeRealm(deps, { realm: name, resourceUid: uid }, { withKeys })
    },
  }

  /** The name whose rows are deleted with a Realm: the registered one, or its own if no other Realm claims it. */
  function heldName(realm: RealmResource, view: View): string | undefined {
    const name = realmName(realm)
    const known = rows.realms.get(realm.metadata.uid) ?? formerRow(name, realm)
    if (known) return known.realm
    const others = view
      .knownAs('Realm', relation.realmName(name))
      .filter(({ metadata }) => metadata.uid !== realm.metadata.uid)
    return rows.realmOwner(name) === undefined && others.length === 0 ? name : undefined
  }

  /** The row of a former Realm of the same path, which this one has not taken over yet. */
  function formerRow(name: string, { metadata }: RealmResource): KnownRow | undefined {
    const known = rows.realms.atPath(pathOf(metadata))
    return known?.realm === name ? known : undefined
  }

  /**
   * A Realm that was deleted and created again is another Realm: the rows of the former one go. When its kind was
   * re-created, the Realm itself was not deleted, and the new object takes the rows over.
   */
  async function removeFormer(name: string, realm: RealmResource, view: View): Promise<void> {
    const recorded = rows.realmOwner(name)
    if (recorded === undefined || recorded === realm.metadata.uid) return
    if (view.isRecreated('Realm', realm.metadata.namespace) && formerRow(name, realm)) return
    const stillThere = view.knownAs('Realm', relation.realmName(name)).some(({ metadata }) => metadata.uid === recorded)
    if (!stillThere) await removeRealm(deps, { realm: name, resourceUid: recorded })
  }

  /** For a paused Realm, whose row stays: a license or an administrator that others took away is missing nevertheless. */
  async function withdrawEncryption(name: string, uid: string, encryption: EncryptionPreconditions): Promise<boolean> {
    const present = await findRealm(store.db, name)
    if (present?.resourceUid !== uid || encryption.missing.length === 0) return false
    return saveRealm(deps, { ...present, encryption })
  }

  async function servedFields(
    name: string,
    wanted: EncryptionField[],
    keyring: KeyringResult,
  ): Promise<EncryptionField[]> {
    if (keyring.keyring || !keyring.problem) return fieldsPaired(wanted, keyring.fields.served)
    // Servers keep the last good keyring, and its fields with it.
    const present = await findRealm(store.db, name)
    return fieldsPaired(wanted, (present?.fields ?? []).map(pairOf))
  }
}

/** The status of a Realm that is not served. */
const CLEARED_FIELDS = { issuer: undefined, defaultRoles: undefined, encryptionFields: undefined, keys: undefined }

/** Admission refuses these names; a source without admission does not. */
function isReserved(name: string): boolean {
  return ['master', 'admin'].includes(name) || !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)
}

function desiredRow(
  realm: RealmResource,
  keyring: SecretName,
  fields: EncryptionField[],
  encryption: EncryptionPreconditions,
): RealmRow {
  const { metadata, spec } = realm
  return {
    realm: realmName(realm),
    resourceUid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    generation: metadata.generation,
    enabled: spec.enabled,
    displayName: spec.displayName ?? null,
    tokens: spec.tokens,
    bruteForce: spec.bruteForceProtection,
    passwordHashing: withinBounds(spec.passwordHashing),
    roles: (spec.roles ?? []).map((role) => ({ name: role.name, composites: role.composites ?? [] })),
    fields,
    encryption,
    keyringNamespace: keyring.namespace,
    keyringName: keyring.name,
  }
}

function earliest(times: (Date | undefined)[]): Date | undefined {
  const known = times.filter((time) => time !== undefined).map((time) => time.getTime())
  return known.length > 0 ? new Date(Math.min(...known)) : undefined
}
