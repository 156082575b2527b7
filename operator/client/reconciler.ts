import { removeClient, removeFormerClient, saveClient, withdrawClient } from './rows.ts'
import { findClientByUid } from '../../store/clients.ts'
import type { ClientSettings, ClientWithoutSecret } from '../../store/clients.ts'
import { resolveClientSecret } from './secret.ts'
import { clientSettings } from './settings.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { heldResult, isPaused } from '../controller/paused.ts'
import { notReady, ready, unusable } from '../controller/reconciler.ts'
import type { ReconcileResult, Reconciler } from '../controller/reconciler.ts'
import { clientSecretName, realmPathOf, relation } from '../view/relations.ts'
import { pathOf } from '../view/resource_types.ts'
import type { ClientResource } from '../view/resource_types.ts'
import { clientDigest } from '../rows/row_digest.ts'
import type { KnownClient } from '../rows/rows.ts'
import type { View } from '../view/view.ts'

type Deps = Pick<ReconcilerDeps, 'store' | 'rows' | 'secrets' | 'baseUrl'>

/** Keeps one row of `clients` equal to one Client resource, and the Secret that it generates. */
export function clientReconciler(deps: Deps): Reconciler<'Client'> {
  const { rows, store } = deps
  return {
    async reconcile(client, view) {
      const { uid } = client.metadata
      const realm = view.realmFor(client)
      if (!realm.admitted) {
        return notReady(realm.reason, realm.message, {
          changed: await withdrawClient(deps, uid),
          fields: CLEARED_FIELDS,
        })
      }

      const holderOf = (clientId: string): ClientResource | undefined =>
        view.holderOf(
          'Client',
          relation.clientId(realmPathOf(client), clientId),
          rows.clientOwner(realm.name, clientId),
        )
      if (isPaused(client)) return heldResult(client, await withdrawAudiences(client, realm.name, view, holderOf))
      const clientIdTaken = (): ReconcileResult =>
        notReady('ClientIdTaken', belongsTo(client, holderOf(client.spec.clientId)))
      if (holderOf(client.spec.clientId)?.metadata.uid !== uid) return clientIdTaken()

      const known = rows.clients.get(uid)
      const secret = await resolveClientSecret(client, realm.name, known, deps)
      // Without a row no former registration stays in force.
      if (secret.problem && !known) return unusable(secret.problem)

      const keptAudiences = await audiencesOfUnseen(client, realm.name, view)
      const { audiences, refused } = audiencesOf(client, holderOf, keptAudiences)
      const settings = clientSettings(client, realm.resource, audiences)
      const row = desiredRow(client, realm.name, settings, secret.source)
      const previousValidSeconds = client.spec.clientSecret?.previousValidSeconds ?? 0
      const changed = mustWrite(known, row, previousValidSeconds, store.now())
      if (changed) {
        // A hash without a source was written by another client of the database, and is no former secret.
        const stays = known?.secretSource ? previousValidSeconds : 0
        const written = await saveClient(deps, { row, secret: secret.value, previousValidSeconds: stays })
        if (!written) return clientIdTaken()
      }

      const rest = statusOf(client, rows.clients.get(uid), changed)
      if (secret.problem) return unusable(secret.problem, rest)
      if (refused.length > 0) return notReady('AudienceNotAllowed', audienceNotAllowed(client, refused), rest)
      return ready('Registered', `registered in realm "${realm.name}"`, rest)
    },

    async finalize({ metadata: { uid, namespace, name } }) {
      await removeFormerClient(deps, { resourceUid: uid, namespace, name })
      // Its owner reference makes the API server delete a generated Secret.
      await removeClient(deps, uid)
    },
  }

  /**
   * For a paused Client, whose row stays: removes the audiences that other Clients do not accept any more. True when
   * there were any.
   */
  async function withdrawAudiences(
    client: ClientResource,
    realm: string,
    view: View,
    holderOf: (clientId: string) => ClientResource | undefined,
  ): Promise<boolean> {
    const { metadata, spec } = client
    const { uid, namespace, name } = metadata
    await removeFormerClient(deps, { resourceUid: uid, namespace, name })
    const row = await findClientByUid(store.db, uid)
    if (!row) return false
    const registered = { ...client, spec: { ...spec, audiences: row.settings.audiences } }
    const kept = await audiencesOfUnseen(registered, realm, view)
    const { audiences, refused } = audiencesOf(registered, holderOf, kept)
    if (refused.length === 0) return false
    const narrowed = { ...row, settings: { ...row.settings, audiences } }
    const previousValidSeconds = spec.clientSecret?.previousValidSeconds ?? 0
    return (await saveClient(deps, { row: narrowed, secret: undefined, previousValidSeconds })) !== undefined
  }

  /**
   * Audiences whose Client has a row and is not seen, because its namespace is not watched or its kind was re-created.
   * Whether it accepts tokens of this Client is unknown, so its row decides: true for an audience that it has already.
   */
  async function audiencesOfUnseen(
    { metadata, spec }: ClientResource,
    realm: string,
    view: View,
  ): Promise<ReadonlyMap<string, boolean>> {
    const unseen = (spec.audiences ?? []).filter((audience) => {
      const owner = rows.clients.get(rows.clientOwner(realm, audience) ?? '')
      if (!owner || owner.namespace === metadata.namespace) return false
      if (view.find('Client', owner.namespace, owner.name)?.metadata.uid === owner.resourceUid) return false
      return !view.covers(owner.namespace) || view.isRecreated('Client', owner.namespace)
    })
    if (unseen.length === 0) return new Map()
    const present = (await findClientByUid(store.db, metadata.uid))?.settings.audiences ?? []
    return new Map(unseen.map((audience) => [audience, present.includes(audience)]))
  }
}

/** The status of a Client that is not registered. */
const CLEARED_FIELDS = { secretName: undefined, previousSecretValidUntil: undefined }

function desiredRow(
  { metadata, spec }: ClientResource,
  realm: string,
  settings: ClientSettings,
  secretSource: string | null,
): ClientWithoutSecret {
  return {
    realm,
    clientId: spec.clientId,
    resourceUid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    generation: metadata.generation,
    enabled: spec.enabled,
    type: spec.type,
    settings,
    secretSource,
  }
}

function mustWrite(
  known: KnownClient | undefined,
  row: ClientWithoutSecret,
  previousValidSeconds: number,
  now: Date,
): boolean {
  if (known?.digest !== clientDigest(row)) return true
  // The row drops a former secret when its time is over, or when the spec no longer keeps one.
  return known.previousValidUntil !== null && (previousValidSeconds === 0 || known.previousValidUntil <= now)
}

function statusOf(
  client: ClientResource,
  known: KnownClient | undefined,
  changed: boolean,
): Pick<ReconcileResult, 'fields' | 'changed' | 'requeueAt'> {
  const until = known?.previousValidUntil
  const fields = { secretName: clientSecretName(client), previousSecretValidUntil: until?.toISOString() }
  return { changed, fields, ...(until && { requeueAt: until }) }
}

function belongsTo({ metadata, spec }: ClientResource, holder: ClientResource | undefined): string {
  const isOther = holder && holder.metadata.uid !== metadata.uid
  return `clientId "${spec.clientId}" belongs to ${isOther ? pathOf(holder.metadata) : 'another Client'}`
}

/**
 * The audiences that the client may have. A Client of another namespace must accept its tokens: otherwise anyone who
 * can create a Client in some namespace could obtain tokens for every service of the realm.
 */
function audiencesOf(
  { metadata, spec }: ClientResource,
  holderOf: (clientId: string) => ClientResource | undefined,
  ofUnseen: ReadonlyMap<string, boolean>,
): { audiences: string[]; refused: string[] } {
  const listed = spec.audiences ?? []
  const refused = listed.filter((audience) => {
    const isKept = ofUnseen.get(audience)
    if (isKept !== undefined) return !isKept
    const holder = holderOf(audience)
    if (!holder || holder.metadata.namespace === metadata.namespace) return false
    return holder.spec.acceptsTokensFrom?.includes(spec.clientId) !== true
  })
  return { audiences: listed.filter((audience) => !refused.includes(audience)), refused }
}

function audienceNotAllowed({ spec }: ClientResource, refused: string[]): string {
  return (
    `tokens lack the audiences ${refused.map((audience) => `"${audience}"`).join(', ')}: ` +
    `these Clients of other namespaces do not list "${spec.clientId}" in acceptsTokensFrom`
  )
}
