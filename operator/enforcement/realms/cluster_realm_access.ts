import type { ApiClient } from '../../../kubernetes/api_client.ts'
import { MERGE_PATCH } from '../../../kubernetes/api_client.ts'
import type { ApiObject } from '../../../kubernetes/api_object.ts'
import { listAll } from '../../../kubernetes/list_all.ts'
import { CONFIRM_GOVERNANCE, confirmationOf } from '../../realm/governance/remember.ts'
import { kindPath, objectPath } from '../../source/cluster/api_names.ts'
import { receive, trimmed } from '../../source/cluster/received_object.ts'
import type { RealmResource } from '../../view/resource_types.ts'
import { outcomeOf, throwAnswered } from '../api_answers.ts'
import type { RealmAccess } from '../policy_access.ts'

const PROBE_NAME = 'realmkeeper-enforcement-check'

/** RealmAccess of a cluster, as the operator's account. */
export function clusterRealmAccess({
  client,
  namespaces,
}: {
  client: ApiClient
  namespaces: readonly string[] | undefined
}): RealmAccess {
  return {
    async list() {
      const lists = (namespaces ?? [undefined]).map((namespace) =>
        listAll(client, { path: kindPath('Realm', namespace) }, trimmed),
      )
      const answers = await Promise.all(lists).catch(throwAnswered)
      return answers.flatMap(({ objects }) => objects.map(realmOf))
    },

    async read({ namespace, name }) {
      const object = await client.find({ path: objectPath({ kind: 'Realm', namespace, name }) }).catch(throwAnswered)
      return object && realmOf(object)
    },

    async probe({ metadata }) {
      const { namespace, name } = metadata
      // Of the present version, so that only the rule on the right to confirm refuses it; not one that may be there.
      const confirmation = confirmationOf({ namespace, name: PROBE_NAME }, metadata)
      try {
        await client.object({
          method: 'PATCH',
          path: objectPath({ kind: 'Realm', namespace, name }),
          query: { dryRun: 'All' },
          contentType: MERGE_PATCH,
          body: { metadata: { annotations: { [CONFIRM_GOVERNANCE]: confirmation } } },
        })
        return { result: 'failed', why: 'the API server accepted it' }
      } catch (error) {
        return outcomeOf(error)
      }
    },
  }
}

function realmOf(object: ApiObject): RealmResource {
  const { resource } = receive('Realm', object)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server validates objects against the schema
  return resource as RealmResource
}
