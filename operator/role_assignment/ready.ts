import { count, names, sentence } from '../../process/printable.ts'
import type { DecisionInput, Ready, Reason } from './decision.ts'
import { isGrantedByDecision, lastsAsRequested, needsDecision, satisfies } from './grant.ts'
import type { Grant, Granted, Request } from './granted.ts'
import type { Tally } from './quorum.ts'
import type { Resolution } from './request.ts'
import { requesterText } from './writers.ts'
import type { Writers } from './writers.ts'

const NEW_GENERATION = 'edit spec (for example reason) and have the new generation approved'

const UNPROVEN_SPEC =
  'this generation may have been written while the admission policies were not in force, so its writer may not be the ' +
  `requester that it names; no decision on it counts: check spec, then ${NEW_GENERATION}`

const DELETING = 'it is being deleted and grants nothing'
const PAUSED = 'nothing new is granted while it is paused'

interface ReadyInput {
  input: DecisionInput
  resolution: Resolution
  granted: Granted
  request: Request | undefined
  votes: Tally
}

type Part = string | false | undefined
type NotReady = (reason: Reason, ...parts: Part[]) => Ready

/** The condition `Ready`: the first obstacle, the roles that are granted nevertheless, and what to do. */
export function readyCondition(facts: ReadyInput): Ready {
  const { input, resolution, granted, request, votes } = facts
  const { serving, outcome } = granted
  const notReady: NotReady = (reason, ...parts) => ({
    status: 'False',
    reason,
    message: sentence(...parts, grantedPart(serving)),
  })

  if (input.assignment.deleting) return notReady('Deleting', DELETING)
  if (!input.realm.admitted && !resolution.resolved) return notReady(resolution.reason, resolution.message)
  if (outcome === 'Denied') {
    const by = votes.deniedBy.length > 0 ? `denied by ${names(votes.deniedBy)}` : 'denied'
    return notReady('Denied', by, 'nothing is granted until spec is edited and the new generation is approved')
  }
  if (!resolution.resolved) return notReady(resolution.reason, resolution.message, tooEarlyPart(votes))
  if (!request) return notReady('PendingApproval')
  const governed = needsDecision(request, resolution.realm.governance)
  const isSatisfied = serving && satisfies(serving, request)
  if (request.startsOver && governed && !isSatisfied) {
    const why = input.spec === 'unproven' ? UNPROVEN_SPEC : startsOverPart(request.startsOver)
    return notReady(request.startsOver, why)
  }
  if (outcome === 'TimedOut') {
    return notReady('Expired', `no decision was made in time (requested at ${request.resolvedAt})`, NEW_GENERATION)
  }
  if (outcome === 'Ended') {
    return notReady('Expired', 'the grant has ended; edit expiresAt or durationSeconds to request more time')
  }
  if (isSatisfied) {
    return {
      status: 'True',
      reason: serving.governed ? 'Granted' : 'GrantedUngoverned',
      message: sentence(grantedPart(serving), approvedPart(granted), addedLaterPart(resolution.roles, request)),
    }
  }
  if (!governed) {
    return input.assignment.paused
      ? notReady('Paused', PAUSED)
      : notReady('ApprovalNotEnforced', notEnforcedPart(input))
  }
  if (isGrantedByDecision(serving, input.assignment)) {
    const requested = new Set([...request.listedRoles, ...request.roles])
    const lost = [...requested].filter((role) => !serving?.roles.includes(role))
    const why = `removed from the realm after the approval and added again: ${names(lost)}`
    return notReady('PendingApproval', why, NEW_GENERATION)
  }
  return waiting(facts, request, notReady)
}

/** For an object that is older than the stored state. */
export function olderGenerationCondition({ assignment }: DecisionInput, stored: number): Ready {
  if (assignment.deleting) return { status: 'False', reason: 'Deleting', message: DELETING }
  const message = `generation ${assignment.generation} is older than generation ${stored}, which the operator has seen; ${NEW_GENERATION}`
  return { status: 'False', reason: 'DecisionUnproven', message }
}

function waiting({ input, resolution, granted, votes }: ReadyInput, request: Request, notReady: NotReady): Ready {
  const { enforcement, assignment } = input
  const required = request.requiredApprovals
  const missing = Math.max(required - votes.approvers.length, 0)
  const uncounted = votes.uncounted.filter(({ approver }) => !votes.approvers.includes(approver))
  const unproven = uncounted.filter(({ reason }) => reason === 'DecisionUnproven')

  const parts = [
    `${votes.approvers.length} of ${count(required, 'approval')}`,
    votes.approvers.length > 0 && `by ${names(votes.approvers)}`,
    missing > 0 && `waiting for ${missing} more`,
    writersPart(assignment),
    votes.unverified.length > 0 &&
      `approved by ${names(votes.unverified)}, but the operator has not checked the admission policies yet`,
    unproven.length > 0 &&
      `approved by ${names(unproven.map(({ approver }) => approver))} while approval was not enforced`,
    tooEarlyPart(votes),
    uncounted.length > 0 && `an approval that does not count cannot be repeated: ${NEW_GENERATION}`,
    requestedPart(granted.serving, request),
    returnedRolesPart(resolution, request),
  ]

  if (assignment.paused && missing === 0) return notReady('Paused', PAUSED, ...parts)
  // In mode `unchecked` a missing approval is the obstacle; with all approvals there, the missing check is.
  const isBlocked = enforcement.mode === 'gap' || (enforcement.mode === 'unchecked' && missing === 0)
  if (enforcement.required && isBlocked) return notReady('ApprovalNotEnforced', notEnforcedPart(input), ...parts)
  if (unproven.length > 0) return notReady('DecisionUnproven', ...parts)
  if (uncounted.length > 0) return notReady('DecidedTooEarly', ...parts)
  return notReady(votes.approvers.length > 0 && missing > 0 ? 'QuorumNotReached' : 'PendingApproval', ...parts)
}

function writersPart(writers: Writers): string {
  const { formerRequesters = [] } = writers
  const others = formerRequesters.length > 0 ? `, and neither can ${names(formerRequesters)}` : ''
  return `requested by ${requesterText(writers)}, who cannot decide${others}`
}

function grantedPart(grant: Grant | undefined): Part {
  if (!grant || grant.roles.length === 0) return false
  const until = grant.expiresAt === undefined ? '' : ` until ${grant.expiresAt}`
  return `${grant.paused ? 'granted, but not served now' : 'granted'}: ${names(grant.roles)}${until}`
}

function approvedPart({ generation, serving }: Granted): Part {
  if (!serving) return false
  if (!serving.governed) return 'no decision was needed, because governance was disabled in the realm'
  const earlier = serving.generation === generation ? '' : ` (generation ${serving.generation})`
  return `approved by ${names(serving.approvers)}${earlier}`
}

/** What the request adds to the grant in effect. */
function requestedPart(grant: Grant | undefined, request: Request): Part {
  if (!grant) return `requested: ${names(request.roles)}`
  const more = request.roles.filter((role) => !grant.roles.includes(role))
  if (more.length > 0) return `not yet granted: ${names(more)}`
  return !lastsAsRequested(grant, request) && 'not yet granted: the longer time'
}

/** Composites that the realm added after the request. */
function addedLaterPart(present: readonly string[], { roles }: Request): Part {
  const more = present.filter((role) => !roles.includes(role))
  return more.length > 0 && `the realm added ${names(more)} after the request, without a decision: ${NEW_GENERATION}`
}

/** Roles that the realm removed after the request and defines again. */
function returnedRolesPart(resolution: Resolution, request: Request): Part {
  const returned = resolution.resolved ? resolution.roles.filter((role) => !request.roles.includes(role)) : []
  return returned.length > 0 && `added to the realm after the request: ${names(returned)}: ${NEW_GENERATION}`
}

function tooEarlyPart({ uncounted }: Tally): Part {
  const early = uncounted.filter(({ reason }) => reason === 'DecidedTooEarly').map(({ approver }) => approver)
  return early.length > 0 && `approved too early, before realm, subject and roles were found, by ${names(early)}`
}

function startsOverPart(reason: NonNullable<Request['startsOver']>): string {
  const why = {
    RealmReplaced: 'the Realm was replaced after the request',
    SubjectReplaced: 'the User was replaced after the request',
    DecisionUnproven: 'the operator does not know what the decisions on this generation covered',
  }[reason]
  return `${why}; decisions made so far do not count: ${NEW_GENERATION}`
}

function notEnforcedPart({ enforcement }: DecisionInput): string {
  return enforcement.mode === 'gap'
    ? 'nothing new is granted while the admission policies are not in force (see ApprovalEnforced of the Realm)'
    : 'nothing new is granted until the operator has checked that the admission policies are in force'
}
