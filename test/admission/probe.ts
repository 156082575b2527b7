import type { Answer } from '../support/control_plane/account.ts'
import { API } from './world.ts'
import type { World } from './world.ts'
import { condition, merge, mergeStatus, pathOf, ready } from './writes.ts'

/** A write that a policy refuses while it is in force. */
type Probe = (world: World) => Promise<Answer>

const PROBES: Record<string, Probe> = {
  'realmkeeper-roleassignment-decisions': async (world) => {
    const request = await world.request()
    return mergeStatus(world.who('mallory'), request, {
      // Violates the rule on approvers and the rule on operator conditions, because tests remove one rule at a time.
      conditions: [condition(request, 'mallory'), ready(request)],
    })
  },
  'realmkeeper-roleassignment-requests': async (world) =>
    // Violates the rule on requestedBy and the rule on invented former requesters.
    merge(world.who('mallory'), await world.request(), { spec: { roles: ['auditor'], formerRequesters: ['ann'] } }),
  'realmkeeper-realm-governance': async (world) => {
    const { who, home } = world
    const realm = await who('carol').do('GET', `${API}/namespaces/${home}/realms/acme`)
    return who('carol').call(
      'PATCH',
      `${pathOf(realm)}?dryRun=All`,
      // Violates two rules, because tests remove one rule at a time.
      { spec: { identityGovernance: { enabled: false }, deletionPolicy: 'Delete' } },
      { contentType: 'application/merge-patch+json' },
    )
  },
  'realmkeeper-user-subject': async ({ who, home }) =>
    who('carol').call('POST', `${API}/namespaces/${home}/users?dryRun=All`, {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind: 'User',
      metadata: { name: 'probe' },
      spec: { realmRef: { name: 'acme' }, username: 'probe', subject: 'another-user' },
    }),
}

/** The shipped policies. */
export const POLICY_NAMES: readonly string[] = Object.keys(PROBES)

/** Resolves when the named policies are in force. The API server learns of each independently. */
export async function untilActing(world: World, names: readonly string[] = POLICY_NAMES): Promise<void> {
  for (const name of names) await untilRefused(name, PROBES[name]!, world)
}

async function untilRefused(name: string, probe: Probe, world: World): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const { status, body } = await probe(world)
    if (status >= 400 && String(body.message).includes(name)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${name} does not act`)
}
