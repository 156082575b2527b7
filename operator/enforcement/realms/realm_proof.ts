import { CONFIRM_GOVERNANCE } from '../../realm/governance/remember.ts'
import type { RealmResource } from '../../view/resource_types.ts'
import { NotYet } from '../../view/view.ts'
import { throwNotYet } from '../api_answers.ts'
import type { CheckResult } from '../gap.ts'
import type { RealmAccess } from '../policy_access.ts'

/** The policy that refuses less governance to accounts without the verb approve. */
export const GOVERNANCE_POLICY = 'realmkeeper-realm-governance'

/**
 * Whether admission restricts who may lower the governance of a Realm, by reads that begin after this call. Throws NotYet
 * when the API server does not answer, and when the Realm is no longer what was read.
 */
export async function isRealmProven(
  realm: RealmResource,
  access: RealmAccess,
  check: Promise<CheckResult>,
): Promise<boolean> {
  const [result, probe, live] = await Promise.all([
    check,
    access.probe(realm).catch(throwNotYet),
    access.read(realm.metadata).catch(throwNotYet),
  ])
  if (result.outcome === 'no_answer') throw new NotYet(result.message)
  if (!isSameRealm(realm, live)) throw new NotYet('the Realm changed since it was read')
  return result.outcome === 'passed' && probe.result === 'refused' && probe.policy === GOVERNANCE_POLICY
}

function isSameRealm({ metadata: cached }: RealmResource, live: RealmResource | undefined): boolean {
  return (
    live?.metadata.uid === cached.uid &&
    live.metadata.generation === cached.generation &&
    live.metadata.annotations?.[CONFIRM_GOVERNANCE] === cached.annotations?.[CONFIRM_GOVERNANCE]
  )
}
