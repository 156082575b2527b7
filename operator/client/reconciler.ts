import { removeClient, removeFormerClient, saveClient, withdrawClient } from './rows.ts'
import type { ClientWithoutSecret } from '../../store/clients.ts'
import { resolveClientSecret } from './secret.ts'
import { clientSettings } from './settings.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { notReady, ready } from '../controller/reconciler.ts'
import type { ReconcileResult, Reconciler } from '../controller/reconciler.ts'
import { clientSecretName, realmPathOf, relation } from '../view/relations.ts'
import { pathOf } from '../view/resource_types.ts'
import type { ClientResource } from '../view/resource_types.ts'
import { clientDigest } from '../rows/row_digest.ts'
import type { KnownClient, Rows } from '../rows/rows.ts'
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
          fields: NOTHING_TO_SAY,
        })
      }

      const holder = clientIdHolder(client, realm.name, view, rows)
      if (holder !== uid) return notReady('ClientIdTaken', clientIdTaken(client, view, rows, realm.name))

      const known = rows.clients.get(uid)
      const secret = await resolveClientSecret(client, realm.name, known, deps)
      // Without a row there is nothing to keep in force: it is made when the secret is there.
      if (secret.problem && !known) return notReady(secret.problem.reason, secret.problem.message)

      const { audiences, refused } = audiencesOf(client, realm.name, view, rows)
      const settings = clientSettings(client, realm.resource, audiences)
      const row = { ...desiredRow(client, realm.name), settings, secretSource: secret.source }
      const previousValidSeconds = client.spec.clientSecret?.previousValidSeconds ?? 0
      const changed = mustWrite(known, row, previousValidSeconds, store.now())
      if (changed) {
        // A hash that somebody else put into the row (then it has no source) is no former secret.
        const stays = known?.secretSource ? previousValidSeconds : 0
        const written = await saveClient(deps, { row, secret: secret.value, previousValidSeconds: stays })
        if (!written) return notReady('ClientIdTaken', clientIdTaken(client, view, rows, realm.name))
      }

      const rest = said(client, rows.clients.get(uid), changed)
      if (secret.problem) return notReady(secret.problem.reason, `${secret.problem.message}; ${KEPT}`, rest)
      if (refused.length > 0) return notReady('AudienceNotAllowed', audienceNotAllowed(client, refused), rest)
      return ready('Registered', `registered in realm "${realm.name}"`, rest)
    },

    async finalize({ metadata: { uid, namespace, name } }) {
      await removeFormerClient(deps, { resourceUid: uid, namespace, name })
      // A generated Secret goes with its owner.
      await removeClient(deps, uid)
    },
  }
}

const NOTHING_TO_SAY = { secretName: undefined, previousSecretValidUntil: undefined }
const KEPT = 'what was registered before stays in force'

function desiredRow(
  { metadata, spec }: ClientResource,
  realm: string,
): Omit<ClientWithoutSecret, 'settings' | 'secretSource'> {
  return {
    realm,
    clientId: spec.clientId,
    resourceUid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    generation: metadata.generation,
    enabled: spec.enabled,
    type: spec.type,
  }
}

function mustWrite(
  known: KnownClient | undefined,
  row: ClientWithoutSecret,
  previousValidSeconds: number,
  now: Date,
): boolean {
  if (known?.digest !== clientDigest(row)) return true
  // A former secret whose time is over, or is to be over, does not stay in the row.
  return known.previousValidUntil !== null && (previousValidSeconds === 0 || known.previousValidUntil <= now)
}

function said(
  client: ClientResource,
  known: KnownClient | undefined,
  changed: boolean,
): Pick<ReconcileResult, 'fields' | 'changed' | 'requeueAt'> {
  const until = known?.previousValidUntil
  const fields = { secretName: clientSecretName(client), previousSecretValidUntil: until?.toISOString() }
  return { changed, fields, ...(until && { requeueAt: until }) }
}

function clientIdHolder(client: ClientResource, realm: string, view: View, rows: Rows): string | undefined {
  const { clientId } = client.spec
  const claim = relation.clientId(realmPathOf(client), clientId)
  return view.holderOf('Client', claim, rows.clientOwner(realm, clientId))?.metadata.uid
}

function clientIdTaken(client: ClientResource, view: View, rows: Rows, realm: string): string {
  const { clientId } = client.spec
  const claim = relation.clientId(realmPathOf(client), clientId)
  const holder = view.holderOf('Client', claim, rows.clientOwner(realm, clientId))
  const isOther = holder && holder.metadata.uid !== client.metadata.uid
  return `clientId "${clientId}" belongs to ${isOther ? pathOf(holder.metadata) : 'another Client'}`
}

/**
 * Audiences that the client may have. One that is a Client of another namespace has to accept its tokens: else
 * whoever can create a Client anywhere could make tokens for anybody's service.
 */
function audiencesOf(
  client: ClientResource,
  realm: string,
  view: View,
  rows: Rows,
): { audiences: string[]; refused: string[] } {
  const refused = (client.spec.audiences ?? []).filter((audience) => {
    const claim = relation.clientId(realmPathOf(client), audience)
    const holder = view.holderOf('Client', claim, rows.clientOwner(realm, audience))
    if (!holder || holder.metadata.namespace === client.metadata.namespace) return false
    return holder.spec.acceptsTokensFrom?.includes(client.spec.clientId) !== true
  })
  return { audiences: (client.spec.audiences ?? []).filter((audience) => !refused.includes(audience)), refused }
}

function audienceNotAllowed({ spec }: ClientResource, refused: string[]): string {
  return (
    `left out of its tokens until they list "${spec.clientId}" in acceptsTokensFrom: ` +
    `the Clients ${refused.map((audience) => `"${audience}"`).join(', ')} of other namespaces`
  )
}
