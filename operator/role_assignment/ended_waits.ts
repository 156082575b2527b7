import type { DecisionResult } from './decision.ts'

/** What a request had been waiting for and has now; nothing where nobody has to decide. */
export function endedWaits({ record, audit }: DecisionResult): ('decision' | 'grant')[] {
  const isGranted = audit.some(({ action, details }) => action === 'roles_granted' && details['governed'] === true)
  return [...record.map(() => 'decision' as const), ...(isGranted ? (['grant'] as const) : [])]
}

/** Since the request could first be decided on. */
export function secondsWaited({ granted: { resolvedAt } }: DecisionResult, now: Date): number {
  return resolvedAt === undefined ? 0 : Math.max(0, (now.getTime() - Date.parse(resolvedAt)) / 1_000)
}
