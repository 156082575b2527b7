import { auditNotes } from './audit.ts'
import type { DecisionInput, DecisionResult } from './decision.ts'
import { decisionDueBy, deniedSince, needsDecision, nextGrant, remainingGrant } from './grant.ts'
import { atGeneration, latestGranted } from './granted.ts'
import type { Granted, Request } from './granted.ts'
import { tally } from './quorum.ts'
import { olderGenerationCondition, readyCondition } from './ready.ts'
import { requestOf, resolve, unresolvedRequest } from './request.ts'
import type { Resolution } from './request.ts'
import { covers } from './status_decisions.ts'
import { earlier, millis } from './time.ts'

/**
 * Decides on one RoleAssignment: the roles that it grants now, the condition Ready, and the state to store. Pure and
 * level-triggered: with its own result stored, a second call returns the same result and no transition.
 *
 * A role is granted only to the subject, in the realm and for the time that a quorum without the requester approved on
 * this uid and generation, or where no decision is needed. The spec was written under the admission policies, or nothing
 * counts that needs a decision. See docs/decisions/0003-what-a-decision-covers.md.
 */
export function decide(input: DecisionInput): DecisionResult {
  const { assignment, enforcement, now } = input
  const recorded = input.recorded.filter(({ assignmentUid }) => assignmentUid === assignment.uid)
  const previous = latestGranted(input.stored)
  if (previous && previous.generation > assignment.generation) return decideOlderGeneration(input, previous)

  const stored = atGeneration(previous, assignment.generation)
  const resolution = resolve(input)
  const votes = tally({
    assignment,
    // Decisions on an object that is being deleted do not count.
    decisions: assignment.deleting ? [] : input.decisions,
    recorded,
    granted: stored,
    spec: input.spec,
    enforcement,
    realmFound: resolution.realm !== undefined,
    resolved: resolution.resolved,
  })

  const denied = votes.deniedBy.length > 0
  const deniedEarlier =
    stored.serving !== undefined && deniedSince(stored.serving, assignment, input.decisions, recorded)
  const remaining = remainingGrant(stored.serving, { assignment, resolution, denied: denied || deniedEarlier, now })
  const startsOver = input.spec === 'unproven' || (!previous && isForgotten(input))
  const request = currentRequest(stored, input, resolution, startsOver)
  const { outcome, grant, isNew } = nextGrant({
    assignment,
    granted: stored,
    remaining,
    denied,
    request: resolution.resolved ? request : undefined,
    governance: resolution.realm?.governance,
    approvers: votes.approvers,
    enforcement,
    now,
  })

  const state = {
    generation: assignment.generation,
    ...(outcome && { outcome }),
    ...(votes.toStore.length > 0 && { uncounted: votes.toStore }),
    ...(grant && { serving: grant }),
  }
  const granted: Granted = request ? { ...state, ...request } : state
  const requeueAt = nextChange(granted, request, resolution)
  return {
    ready: readyCondition({ input, resolution, granted, request, votes }),
    granted,
    ...rowsOf(input, resolution, granted),
    newDecisions: votes.newDecisions.map(({ approver, decision, form }) => ({
      assignmentUid: assignment.uid,
      generation: assignment.generation,
      realm: resolution.realm?.name ?? '',
      namespace: assignment.namespace,
      name: assignment.name,
      approver,
      decision,
      form,
      recordedAt: now,
    })),
    audit: auditNotes(input, previous, granted, { votes, ended: remaining.ended, isNew }),
    dropApprovals: outdatedApprovers(input),
    ...(requeueAt && { requeueAt }),
  }
}

/**
 * For a generation older than the stored one: the cluster was restored from a backup, or this read came from a replica
 * that lags. The grant pauses and no decision counts until a generation comes that the operator has not seen.
 */
function decideOlderGeneration(input: DecisionInput, previous: Granted): DecisionResult {
  const { assignment } = input
  const denied = input.decisions.some((one) => one.decision === 'Denied' && covers(one, assignment))
  const ended = assignment.deleting ? 'Deleted' : denied ? 'Denied' : undefined
  const { serving, ...rest } = previous
  const granted: Granted = { ...rest, ...(serving && !ended && { serving: { ...serving, paused: true } }) }
  return {
    ready: olderGenerationCondition(input, previous.generation),
    granted,
    roles: [],
    newDecisions: [],
    audit: auditNotes(input, previous, granted, { ended }),
    dropApprovals: [],
  }
}

/** Whether decisions on this generation exist while the request that they covered is lost. */
function isForgotten({ assignment, stored, decisions, recorded }: DecisionInput): boolean {
  const rows = recorded.filter(({ assignmentUid }) => assignmentUid === assignment.uid)
  if (rows.length === 0 && !stored.status) return false
  return (
    rows.some(({ generation }) => generation === assignment.generation) ||
    decisions.some((decision) => covers(decision, assignment))
  )
}

function currentRequest(
  stored: Granted,
  { assignment, now }: DecisionInput,
  resolution: Resolution,
  startsOver: boolean,
): Request | undefined {
  if (!resolution.resolved) {
    return stored.resolvedAt === undefined ? undefined : unresolvedRequest(stored, assignment, resolution.realm)
  }
  const request = requestOf(stored, assignment, resolution, now)
  if (startsOver) request.startsOver = 'DecisionUnproven'
  // Without a decision, the realm may change at any time what roles are composed of.
  return needsDecision(request, resolution.realm.governance) ? request : { ...request, roles: resolution.roles }
}

/** No rows for a paused grant: its realm or subject is missing. */
function rowsOf(
  { assignment }: DecisionInput,
  { realm }: Resolution,
  { serving }: Granted,
): Pick<DecisionResult, 'grantee' | 'roles'> {
  if (!serving || serving.paused || serving.roles.length === 0 || !realm) return { roles: [] }
  const expiresAt = serving.expiresAt === undefined ? null : new Date(millis(serving.expiresAt))
  return {
    grantee: { kind: assignment.subject.kind, subject: serving.sub ?? `default-roles-${realm.name}` },
    roles: serving.roles.map((role) => ({ role, expiresAt })),
  }
}

/** The approver is the key of the list, so each has one entry: a present or an outdated one. */
function outdatedApprovers({ assignment, decisions }: DecisionInput): string[] {
  return decisions
    .filter((decision) => decision.form === 'entry' && !covers(decision, assignment))
    .map(({ approver }) => approver)
}

function nextChange(
  { outcome, serving }: Granted,
  request: Request | undefined,
  { realm }: Resolution,
): Date | undefined {
  let next = serving?.expiresAt
  if (request && !outcome) {
    next = earlier(next, request.expiresAt)
    if (realm && needsDecision(request, realm.governance)) {
      next = earlier(next, decisionDueBy(request, serving, realm.governance))
    }
  }
  return next === undefined ? undefined : new Date(millis(next))
}
