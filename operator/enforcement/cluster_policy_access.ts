import type { Logger } from 'pino'
import { API_VERSION } from '../../crds/group.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import { APPLY_PATCH } from '../../kubernetes/api_client.ts'
import type { ApiClient } from '../../kubernetes/api_client.ts'
import { isStatus } from '../../kubernetes/api_error.ts'
import type { ApiObject } from '../../kubernetes/api_object.ts'
import { CRDS_PATH, kindPath, objectPath } from '../source/cluster/api_names.ts'
import { listAll } from '../../kubernetes/list_all.ts'
import { receive, trimmed } from '../source/cluster/received_object.ts'
import { createReflector } from '../../kubernetes/reflector.ts'
import type { Sink } from '../../kubernetes/reflector.ts'
import { answered, outcomeOf, throwAnswered } from './api_answers.ts'
import { clusterRealmAccess } from './realms/cluster_realm_access.ts'
import { ReadForbidden } from './policy_access.ts'
import type { PolicyAccess, PolicyKind, PolicyName, PolicyObject, ProbeResult } from './policy_access.ts'
import { policyNames } from './policy_check.ts'

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const PATHS: Record<PolicyKind, string> = {
  ValidatingAdmissionPolicy: `${ADMISSION}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: `${ADMISSION}/validatingadmissionpolicybindings`,
  CustomResourceDefinition: CRDS_PATH,
}

/** The field manager of the probe, which is never stored. */
const PROBE_MANAGER = 'realmkeeper-enforcement-check'
/** An object may be deleted during the probe; then the next one is probed. */
const PROBE_OBJECTS = 5

export interface ClusterPolicyAccessOptions {
  client: ApiClient
  /** Namespaces of RoleAssignments; default: all. */
  namespaces?: readonly string[] | undefined
  clock: Clock
  random: () => number
  log: Logger
}

/** PolicyAccess of a cluster, as the operator's account. */
export function clusterPolicyAccess(options: ClusterPolicyAccessOptions): PolicyAccess {
  const { client, namespaces, clock, random, log } = options

  async function list(limit?: number): Promise<RoleAssignmentResource[]> {
    const found: RoleAssignmentResource[] = []
    for (const namespace of namespaces ?? [undefined]) {
      const path = kindPath('RoleAssignment', namespace)
      const objects =
        limit === undefined
          ? (await listAll(client, { path }, trimmed)).objects
          : (await client.list({ method: 'GET', path, query: { limit } })).items
      found.push(...objects.map(assignmentOf))
      if (limit !== undefined && found.length >= limit) break
    }
    return found
  }

  async function probeOn({ metadata }: RoleAssignmentResource): Promise<ProbeResult> {
    const { namespace, name, uid, generation } = metadata
    const condition = {
      type: 'Approved',
      status: 'True',
      reason: 'EnforcementCheck',
      message: '',
      observedGeneration: generation,
      observedUID: uid,
      decidedBy: PROBE_MANAGER,
    }
    try {
      await client.object({
        method: 'PATCH',
        path: `${objectPath({ kind: 'RoleAssignment', namespace, name })}/status`,
        query: { dryRun: 'All', fieldManager: PROBE_MANAGER, force: 'true' },
        contentType: APPLY_PATCH,
        body: {
          apiVersion: API_VERSION,
          kind: 'RoleAssignment',
          metadata: { namespace, name },
          status: { conditions: [condition] },
        },
      })
      return { result: 'failed', why: 'the API server accepted it' }
    } catch (error) {
      return outcomeOf(error)
    }
  }

  return {
    scope: namespaces ?? null,

    async read({ kind, name }) {
      try {
        const object = await client.find({ path: `${PATHS[kind]}/${name}` })
        return object && policyObject(kind, object)
      } catch (error) {
        if (isStatus(error, 403)) throw new ReadForbidden(`the operator may not read ${kind} ${name}`)
        throw answered(error)
      }
    },

    async probe() {
      const candidates = await list(PROBE_OBJECTS).catch(throwAnswered)
      for (const candidate of candidates.filter(isAlive)) {
        const outcome = await probeOn(candidate)
        if (outcome.result !== 'none') return outcome
      }
      if (candidates.length < PROBE_OBJECTS) return { result: 'none' }
      // The first ones are all being deleted.
      const alive = (await list().catch(throwAnswered)).find(isAlive)
      return alive ? probeOn(alive) : { result: 'none' }
    },

    listAssignments: () => list().catch(throwAnswered),

    async readAssignment({ namespace, name }) {
      const path = objectPath({ kind: 'RoleAssignment', namespace, name })
      const object = await client.find({ path }).catch(throwAnswered)
      return object && assignmentOf(object)
    },

    realms: clusterRealmAccess({ client, namespaces }),

    watch(changed) {
      const sink: Sink = { replace: async () => changed(), apply: async () => changed() }
      const reflectors = policyNames().map(({ kind, name }) =>
        createReflector({
          what: `${kind} ${name}`,
          path: PATHS[kind],
          // By name: the operator has rights on these objects only.
          fieldSelector: `metadata.name=${name}`,
          metadataOnly: true,
          sink,
          client,
          clock,
          random,
          log,
        }),
      )
      for (const reflector of reflectors) reflector.start()
      return async () => {
        await Promise.all(reflectors.map((reflector) => reflector.stop()))
      }
    },
  }
}

function isAlive({ metadata }: RoleAssignmentResource): boolean {
  return metadata.deletionTimestamp === undefined
}

function assignmentOf(object: ApiObject): RoleAssignmentResource {
  const { resource } = receive('RoleAssignment', object)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server validates objects against the schema
  return resource as RoleAssignmentResource
}

function policyObject(kind: PolicyName['kind'], { metadata, spec }: ApiObject): PolicyObject {
  const { name, uid, generation = 0, deletionTimestamp } = metadata
  return {
    kind,
    metadata: { name, uid, generation, ...(deletionTimestamp !== undefined && { deletionTimestamp }) },
    spec,
  }
}
