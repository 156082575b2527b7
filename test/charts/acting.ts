import { MERGE_PATCH } from '../support/control_plane/account.ts'
import type { Account } from '../support/control_plane/account.ts'
import { condition, pathOf } from '../admission/writes.ts'
import type { Manifest } from './helm.ts'

/** Resolves when the policies refuse a decision (a dry run) by an account without the right to decide. */
export async function untilPolicyActs(who: Account, request: Manifest): Promise<void> {
  const body = { status: { conditions: [condition(request, who.name)] } }
  for (let tries = 0; tries < 300; tries++) {
    const answer = await who.call('PATCH', `${pathOf(request)}/status?dryRun=All`, body, { contentType: MERGE_PATCH })
    if (answer.status === 403 && /realmkeeper-roleassignment-decisions/.test(answer.body.message)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the policies do not refuse a decision within 15 s')
}
