import type { RealmStatus } from '../../crds/realm.gen.ts'
import { findDefaultRoles, roleHeldUntil } from '../../store/role_assignments.ts'
import { findRealm } from '../../store/realms.ts'
import type { EncryptionField, EncryptionPreconditions, RealmRow } from '../../store/realms.ts'
import { enforcementCondition } from '../enforcement/approval_enforcement.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { issuerOf } from '../../process/issuer.ts'
import { keyringStatus, keysCondition } from './keyring/keyring_status.ts'
import { keyringAt, readKeyring } from './keyring/read_keyring.ts'
import type { ReadKeyring } from './keyring/read_keyring.ts'
import { reconcileKeyring } from './keyring/reconcile_keyring.ts'
import type { KeyringSpec, KeyringResult } from './keyring/reconcile_keyring.ts'
import { encryptionCondition, preconditionConditions, preconditions } from './conditions.ts'
import { fieldsPaired, fieldStatus, pairOf, wantedFields } from './fields.ts'
import { licenseState } from './license.ts'
import type { KnownRow } from '../rows/known_table.ts'
import { removeRealm, saveRealm, withdrawRealm } from './rows.ts'
import { notReady, ready } from '../controller/reconciler.ts'
import type { Reconciler } from '../controller/reconciler.ts'
import { REALM_ADMIN_ROLE, relation } from '../view/relations.ts'
import { pathOf, realmName } from '../view/resource_types.ts'
import type { RealmResource } from '../view/resource_types.ts'
import type { View } from '../view/view.ts'

/** Keeps one row of `realms` equal to one Realm resource, and looks after its keyring. */
export function realmReconciler(deps: ReconcilerDeps): Reconciler<'Realm'> {
  const { store, rows, secrets, keyringNamespace } = deps
  return {
    async reconcile(realm, view) {
      const name = realmName(realm)
      const { uid } = realm.metadata
      const refuse = async (reason: string, message: string) => {
        const isNews = rows.refuseRealm(uid, reason)
        const changed = (await withdrawRealm(deps, uid)) || isNews
        return notReady(reason, message, { changed, fields: NOTHING_TO_SAY })
      }
      if (isReserved(name)) return refuse('RealmNameRefused', `"${name}" is reserved, or no DNS label`)

      const at = keyringAt(keyringNamespace, name)
      const read = await readKeyring(secrets, at, name)
      const owner = ownerOf(realm, name, read, view, rows.realmOwner(name))
      if (owner !== pathOf(realm.metadata)) return refuse('RealmNameTaken', nameTaken(name, owner))
      await removeFormer(name, realm, view)

      const now = store.now()
      const license = await licenseState(realm, name, now, deps)
      const adminUntil = await roleHeldUntil(store.db, name, REALM_ADMIN_ROLE, now)
      const met = preconditionConditions(realm, license, adminUntil)
      const encryption = preconditions(met, license, adminUntil)
      const wanted = wantedFields(realm)
      const mayBegin = wanted.length > 0 && encryption.missing.length === 0
      const keyring = await reconcileKeyring(at, read, keyringSpec(realm, name, wanted, mayBegin, view), deps)
      const fields = await servedFields(name, wanted, keyring)

      const rowChanged = await saveRealm(deps, {
        ...desiredRow(realm, name, fields, encryption),
        keyringNamespace,
        keyringName: at.name,
      })
      const isNews = rows.refuseRealm(uid, undefined)

      const keys = keysCondition(keyring)
      const facts = {
        wanted: wanted.length,
        refused: keyring.fields.refused,
        unlisted: keyring.isExternal
          ? wanted.filter((field) => !fields.includes(field)).map((field) => field.name)
          : [],
        keysTrouble: keyring.trouble,
        hasPrimaryKey: keyring.keyring?.encryption.some(({ state }) => state === 'primary') === true,
      }
      const conditions = [
        keys,
        ...met,
        enforcementCondition(deps.approvalEnforcement()),
        encryptionCondition(met, facts),
      ]
      const requeueAt = earliest([keyring.recheckAt, license.changesAt, adminUntil ?? undefined])
      const rest = {
        conditions,
        changed: rowChanged || isNews,
        ...(requeueAt && { requeueAt }),
        fields: {
          issuer: issuerOf(deps.baseUrl, name),
          defaultRoles: await findDefaultRoles(store.db, name, now),
          encryptionFields: fieldStatus(fields),
          keys: keyringStatus(keyring.keyring, keyring.seen),
        } satisfies RealmStatus,
      }
      if (keys.status !== 'True') return notReady(keys.reason, keys.message, rest)
      return ready('Available', `realm "${name}" is served as ${issuerOf(deps.baseUrl, name)}`, rest)
    },

    async finalize(realm, view) {
      const { uid } = realm.metadata
      rows.refuseRealm(uid, undefined)
      const name = heldName(realm, view)
      // Without its name the rows are another Realm's, and so are the keys.
      if (name === undefined) return
      // Without a row it is not known that the keys are this Realm's: they stay. The Secret goes before the row, which
      // says so.
      const withKeys = realm.spec.deletionPolicy === 'Delete' && rows.realms.get(uid) !== undefined
      if (withKeys) await secrets.delete(keyringAt(keyringNamespace, name))
      await removeRealm(deps, { realm: name, resourceUid: uid }, { withKeys })
    },
  }

  /** The name whose rows go with a Realm: the one that it is registered under, or its own if nobody else claims that. */
  function heldName(realm: RealmResource, view: View): string | undefined {
    const name = realmName(realm)
    const known = rows.realms.get(realm.metadata.uid) ?? formerRow(name, realm)
    if (known) return known.realm
    const others = view
      .knownAs('Realm', relation.realmName(name))
      .filter(({ metadata }) => metadata.uid !== realm.metadata.uid)
    return rows.realmOwner(name) === undefined && others.length === 0 ? name : undefined
  }

  /** The row that a Realm of the same path made, which is gone, and which this one has not taken over. */
  function formerRow(name: string, { metadata }: RealmResource): KnownRow | undefined {
    const known = rows.realms.atPath(pathOf(metadata))
    return known?.realm === name ? known : undefined
  }

  /**
   * A Realm made anew under the same name is another one: what belonged to the former one ends with it. Unless nobody
   * deleted that: the kind was made anew, and this is the same Realm, back again.
   */
  async function removeFormer(name: string, realm: RealmResource, view: View): Promise<void> {
    const recorded = rows.realmOwner(name)
    if (recorded === undefined || recorded === realm.metadata.uid) return
    if (view.isRecreated('Realm') && formerRow(name, realm)) return
    const stillThere = view.knownAs('Realm', relation.realmName(name)).some(({ metadata }) => metadata.uid === recorded)
    if (!stillThere) await removeRealm(deps, { realm: name, resourceUid: recorded })
  }

  async function servedFields(
    name: string,
    wanted: EncryptionField[],
    keyring: KeyringResult,
  ): Promise<EncryptionField[]> {
    if (keyring.keyring || !keyring.trouble) return fieldsPaired(wanted, keyring.fields.served)
    // Servers go on with the last good keyring, and so with its fields.
    const present = await findRealm(store.db, name)
    return fieldsPaired(wanted, (present?.fields ?? []).map(pairOf))
  }

  function keyringSpec(
    realm: RealmResource,
    name: string,
    fields: EncryptionField[],
    mayBegin: boolean,
    view: View,
  ): KeyringSpec {
    const { namespace, annotations = {} } = realm.metadata
    const { tokens, keyRotation } = realm.spec
    const rotate = (kind: string) => annotations[`realmkeeper.io/rotate-${kind}`] ?? ''
    const clients = view.knownAs('Client', relation.realmDetails(pathOf(realm.metadata)))
    const lifetimes = clients.map(({ spec }) => spec.accessTokenLifetimeSeconds ?? 0)
    return {
      realm: name,
      owner: { namespace, name: realm.metadata.name },
      fields: fields.map(pairOf),
      algorithm: tokens.signingAlgorithm,
      settings: {
        ...keyRotation,
        accessTokenLifetimeSeconds: Math.max(tokens.accessTokenLifetimeSeconds, ...lifetimes),
        sessionLifetimeSeconds: tokens.sessionLifetimeSeconds,
        rotate: { signing: rotate('signing'), refresh: rotate('refresh'), encryption: rotate('encryption') },
        encryptionAwaited: !mayBegin,
      },
      acceptedLoss: (annotations['realmkeeper.io/accept-key-loss'] ?? '').split(',').map((text) => text.trim()),
      inStatus: realm.status?.keys?.encryption ?? [],
    }
  }
}

const NOTHING_TO_SAY = { issuer: undefined, defaultRoles: undefined, encryptionFields: undefined, keys: undefined }

/** Admission refuses these; a source without admission does not get them past here either. */
function isReserved(name: string): boolean {
  return ['master', 'admin'].includes(name) || !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)
}

/** `namespace/name` of the Realm that a realm name belongs to: the keyring says so, else the row, else the age. */
function ownerOf(
  realm: RealmResource,
  name: string,
  read: ReadKeyring,
  view: View,
  recordedUid: string | undefined,
): string {
  const recorded = read.found === false ? undefined : read.owner
  if (recorded !== undefined) return recorded
  const holder = view.holderOf('Realm', relation.realmName(name), recordedUid)
  return pathOf((holder ?? realm).metadata)
}

function nameTaken(name: string, owner: string): string {
  return (
    `the realm name "${name}" and its keyring belong to Realm ${owner}; the annotation realmkeeper.io/keyring-owner ` +
    'on the keyring Secret gives them to another one'
  )
}

function desiredRow(
  { metadata, spec }: RealmResource,
  name: string,
  fields: EncryptionField[],
  encryption: EncryptionPreconditions,
): Omit<RealmRow, 'keyringNamespace' | 'keyringName'> {
  return {
    realm: name,
    resourceUid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    generation: metadata.generation,
    enabled: spec.enabled,
    displayName: spec.displayName ?? null,
    tokens: spec.tokens,
    bruteForce: spec.bruteForceProtection,
    passwordHashing: spec.passwordHashing,
    roles: (spec.roles ?? []).map((role) => ({ name: role.name, composites: role.composites ?? [] })),
    fields,
    encryption,
  }
}

function earliest(times: (Date | undefined)[]): Date | undefined {
  const known = times.filter((time) => time !== undefined).map((time) => time.getTime())
  return known.length > 0 ? new Date(Math.min(...known)) : undefined
}
