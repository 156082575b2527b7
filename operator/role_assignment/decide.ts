import { auditNotes } from './audit.ts'
import type { Granted, Request } from './granted.ts'
import type { DecisionInput, DecisionResult } from './decision.ts'
import { tally } from './quorum.ts'
import { readyCondition, setBackCondition } from './ready.ts'
import { openGeneration, recall } from './recall.ts'
import { requestMeanwhile, requestOf } from './request.ts'
import { resolve } from './resolve.ts'
import type { Found } from './resolve.ts'
import { deniedSince, keep } from './serving.ts'
import { earlier, millis } from './time.ts'
import { decisionDueBy, needsDecision, weigh } from './grant.ts'

/**
 * Decides on one RoleAssignment: what it grants now, why not more, and what to remember. Pure and level-triggered: it
 * looks at how things stand, and called again with its own answer remembered it answers the same.
 *
 * A role is granted only to the subject, in the realm and for the time that a quorum of other people than the
 * requester approved, on this very uid and generation, knowing what the roles were composed of; or where nobody has to
 * decide. See docs/decisions/0003-what-a-decision-covers.md.
 */
export function decide(input: DecisionInput): DecisionResult {
  const { assignment, stated, recorded, enforcement, now } = input
  const own = recorded.filter(({ assignmentUid }) => assignmentUid === assignment.uid)

  const before = recall(input.remembered)
  if (before && before.generation > assignment.generation) return setBack(input, before)
  const memory = openGeneration(before, assignment.generation)
  const found = resolve(input)
  const realmKnown = found.realm !== undefined
  const votes = tally({
    assignment,
    // Nobody decides on what is being deleted.
    stated: assignment.deleting ? [] : stated,
    recorded: own,
    memory,
    enforcement,
    realmKnown,
    resolved: found.resolved,
  })

  const denied = votes.deniedBy.length > 0
  const outrun = memory.serving !== undefined && deniedSince(memory.serving, assignment, stated, own)
  const kept = keep(memory.serving, { assignment, found, denied: denied || outrun, now })
  const request = presentRequest(memory, input, found, !before && isForgotten(input))
  const {
    outcome,
    serving,
    isNew = false,
  } = weigh({
    assignment,
    memory,
    kept,
    denied,
    request: found.resolved ? request : undefined,
    governance: found.realm?.governance,
    approvers: votes.approvers,
    enforcement,
    now,
  })

  const remembered = {
    generation: assignment.generation,
    ...(outcome && { outcome }),
    ...(votes.uncounted.length > 0 && { uncounted: votes.uncounted }),
    ...(serving && { serving }),
  }
  const granted: Granted = request ? { ...remembered, ...request } : remembered
  const lookAgainAt = nextChange(granted, request, found)
  return {
    ready: readyCondition({ input, found, granted, request, votes }),
    granted,
    ...present(input, found, granted),
    record: votes.record.map(({ approver, decision, form }) => ({
      assignmentUid: assignment.uid,
      generation: assignment.generation,
      realm: found.realm?.name ?? '',
      namespace: assignment.namespace,
      name: assignment.name,
      approver,
      decision,
      form,
      recordedAt: now,
    })),
    audit: auditNotes(input, before, granted, { votes, ending: kept.ending, isNew }),
    dropApprovals: outdated(input),
    ...(lookAgainAt && { lookAgainAt }),
  }
}

/**
 * The object is older than what is remembered of it: the cluster was restored from a backup, or this was read from a
 * replica that lags. Nothing is served, decided or forgotten until the generation is one that was not seen before.
 */
function setBack(input: DecisionInput, before: Granted): DecisionResult {
  const { uid, generation, deleting } = input.assignment
  const denied = input.stated.some(
    ({ decision, observedUID, observedGeneration }) =>
      decision === 'Denied' && observedUID === uid && observedGeneration === generation,
  )
  const ending = deleting ? 'Deleted' : denied ? 'Denied' : undefined
  const { serving, ...rest } = before
  const granted: Granted = { ...rest, ...(serving && !ending && { serving: { ...serving, paused: true } }) }
  return {
    ready: setBackCondition(input, before.generation),
    granted,
    roles: [],
    record: [],
    audit: auditNotes(input, before, granted, { ending }),
    dropApprovals: [],
  }
}

/** Whether decisions on this generation were made about something that is no longer known. */
function isForgotten({ assignment, remembered, stated, recorded }: DecisionInput): boolean {
  const rows = recorded.filter(({ assignmentUid }) => assignmentUid === assignment.uid)
  if (rows.length === 0 && !remembered.status) return false
  return (
    rows.some(({ generation }) => generation === assignment.generation) ||
    stated.some((one) => one.observedUID === assignment.uid && one.observedGeneration === assignment.generation)
  )
}

function presentRequest(
  memory: Granted,
  { assignment, now }: DecisionInput,
  found: Found,
  isForgotten: boolean,
): Request | undefined {
  if (!found.resolved)
    return memory.resolvedAt === undefined ? undefined : requestMeanwhile(memory, assignment, found.realm)
  const request = isForgotten
    ? { ...requestOf(memory, assignment, found, now), startsOver: 'DecisionUnproven' as const }
    : requestOf(memory, assignment, found, now)
  // Where nobody has to decide, what roles are composed of is the realm's to say at any time.
  return needsDecision(request, found.realm.governance) ? request : { ...request, roles: found.roles }
}

/** The rows. Nothing for a grant that is paused: what it is for is missing. */
function present(
  { assignment }: DecisionInput,
  found: Found,
  { serving }: Granted,
): Pick<DecisionResult, 'grantee' | 'roles'> {
  if (!serving || serving.paused || serving.roles.length === 0 || !found.realm) return { roles: [] }
  const expiresAt = serving.expiresAt === undefined ? null : new Date(millis(serving.expiresAt))
  return {
    grantee: { kind: assignment.subject.kind, subject: serving.sub ?? `default-roles-${found.realm.name}` },
    roles: serving.roles.map((role) => ({ role, expiresAt })),
  }
}

/** A name can have an entry about this generation and object, or an outdated one, but not both: it is the list's key. */
function outdated({ assignment: { uid, generation }, stated }: DecisionInput): string[] {
  return stated
    .filter(({ form }) => form === 'entry')
    .filter(({ observedUID, observedGeneration }) => observedUID !== uid || observedGeneration !== generation)
    .map(({ approver }) => approver)
}

function nextChange({ outcome, serving }: Granted, request: Request | undefined, { realm }: Found): Date | undefined {
  let end = serving?.expiresAt
  if (request && !outcome) {
    end = earlier(end, request.expiresAt)
    if (realm && needsDecision(request, realm.governance)) {
      end = earlier(end, decisionDueBy(request, serving, realm.governance))
    }
  }
  return end === undefined ? undefined : new Date(millis(end))
}
