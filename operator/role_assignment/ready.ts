import type { Granted, Request } from './granted.ts'
import type { DecisionInput, Ready, Reason } from './decision.ts'
import { count, names, printable, sentence } from '../../process/printable.ts'
import type { Tally } from './quorum.ts'
import type { Found } from './resolve.ts'
import { covers, lastsAsAsked } from './serving.ts'
import { isGrantedByDecision, needsDecision } from './grant.ts'

const NEW_GENERATION = 'edit spec (reason, for instance) and have it decided anew'

const DELETING = 'it is being deleted and grants nothing'

interface Facts {
  input: DecisionInput
  found: Found
  granted: Granted
  request: Request | undefined
  votes: Tally
}

/** The condition `Ready`: the first thing that stands in the way, what is served all the same, and what to do. */
export function readyCondition(facts: Facts): Ready {
  const { input, found, granted, request, votes } = facts
  const { serving, outcome } = granted
  const unready = (reason: Reason, ...parts: (string | false | undefined)[]): Ready => ({
    status: 'False',
    reason,
    message: sentence(...parts, served(granted)),
  })

  if (input.assignment.deleting) return unready('Deleting', DELETING)
  if (!input.realm.admitted && !found.resolved) return unready(found.reason, found.message)
  if (outcome === 'Denied') {
    const by = votes.deniedBy.length > 0 ? `denied by ${names(votes.deniedBy)}` : 'denied'
    return unready('Denied', `${by}; nothing is granted until spec is edited and that is approved`)
  }
  if (!found.resolved) return unready(found.reason, found.message, tooEarly(votes))
  if (!request) return unready('PendingApproval')
  const governed = needsDecision(request, found.realm.governance)
  const covered = serving && covers(serving, request)
  if (request.startsOver && governed && !covered) {
    return unready(request.startsOver, startedOver(request.startsOver))
  }
  if (outcome === 'TimedOut') {
    return unready('Expired', `nobody decided in time (asked since ${request.resolvedAt})`, NEW_GENERATION)
  }
  if (outcome === 'Ended') {
    return unready('Expired', 'its time is over; edit expiresAt or durationSeconds to ask for more')
  }
  if (covered) {
    return {
      status: 'True',
      reason: serving.governed ? 'Granted' : 'GrantedUngoverned',
      message: sentence(served(granted), grantedBy(granted), widened(found.roles, request)),
    }
  }
  if (!governed) return unready('ApprovalNotEnforced', notEnforced(input))
  if (isGrantedByDecision(serving, input.assignment)) {
    const asked = new Set([...request.listedRoles, ...request.roles])
    const lost = [...asked].filter((role) => !serving?.roles.includes(role))
    return unready('PendingApproval', `left the realm after the approval and came back: ${names(lost)}`, NEW_GENERATION)
  }
  return waiting(facts, request, unready)
}

/** For an object that is older than what is remembered. */
export function setBackCondition({ assignment }: DecisionInput, remembered: number): Ready {
  if (assignment.deleting) return { status: 'False', reason: 'Deleting', message: DELETING }
  const message = `generation ${assignment.generation} is older than ${remembered}, which was seen before; ${NEW_GENERATION}`
  return { status: 'False', reason: 'DecisionUnproven', message }
}

function waiting(
  { input, found, granted, votes }: Facts,
  request: Request,
  unready: (reason: Reason, ...parts: (string | false | undefined)[]) => Ready,
): Ready {
  const { enforcement, assignment } = input
  const required = request.requiredApprovals
  const missing = Math.max(required - votes.approvers.length, 0)
  const uncounted = votes.setAside.filter(({ approver }) => !votes.approvers.includes(approver))
  const unproven = uncounted.filter(({ reason }) => reason === 'DecisionUnproven')

  const parts = [
    `${votes.approvers.length} of ${count(required, 'approval')}`,
    votes.approvers.length > 0 && `by ${names(votes.approvers)}`,
    missing > 0 && `waiting for ${missing} more`,
    `requested by ${printable(assignment.requestedBy)}, who cannot decide`,
    votes.waiting.length > 0 && `approved by ${names(votes.waiting)}, which is yet to be checked against admission`,
    unproven.length > 0 &&
      `approved by ${names(unproven.map(({ approver }) => approver))} while approval was not enforced`,
    tooEarly(votes),
    uncounted.length > 0 && `what does not count stays so: ${NEW_GENERATION}`,
    wants(granted, request),
    gone(found, request),
  ]

  // Before anybody looked at admission nothing is wrong yet, unless a grant waits for that.
  const blocked = enforcement.mode === 'gap' || (enforcement.mode === 'unchecked' && missing === 0)
  if (enforcement.required && blocked) return unready('ApprovalNotEnforced', notEnforced(input), ...parts)
  if (unproven.length > 0) return unready('DecisionUnproven', ...parts)
  if (uncounted.length > 0) return unready('DecidedTooEarly', ...parts)
  return unready(votes.approvers.length > 0 && missing > 0 ? 'QuorumNotReached' : 'PendingApproval', ...parts)
}

function served({ serving }: Granted): string | false {
  if (!serving || serving.roles.length === 0) return false
  const until = serving.expiresAt === undefined ? '' : ` until ${serving.expiresAt}`
  return `${serving.paused ? 'granted, but not served now' : 'granted'}: ${names(serving.roles)}${until}`
}

function grantedBy({ generation, serving }: Granted): string | false {
  if (!serving) return false
  if (!serving.governed) return 'nobody decided, because governance was disabled in the realm'
  const earlier = serving.generation === generation ? '' : ` (generation ${serving.generation})`
  return `approved by ${names(serving.approvers)}${earlier}`
}

/** What the edit asks for beyond what is served. */
function wants({ serving }: Granted, request: Request): string | false {
  if (!serving) return `asked for: ${names(request.roles)}`
  const more = request.roles.filter((role) => !serving.roles.includes(role))
  if (more.length > 0) return `not yet granted: ${names(more)}`
  return !lastsAsAsked(serving, request) && 'not yet granted: the longer time'
}

/** Composites that came after the decision was asked for. */
function widened(now: readonly string[], { roles }: Request): string | false {
  const more = now.filter((role) => !roles.includes(role))
  return more.length > 0 && `the realm added ${names(more)} later, which nobody decided on: ${NEW_GENERATION}`
}

/** Roles that left the realm and came back are asked for anew. */
function gone(found: Found, request: Request): string | false {
  const back = found.resolved && found.roles.filter((role) => !request.roles.includes(role))
  return back && back.length > 0 && `defined in the realm since it was asked for: ${names(back)}: ${NEW_GENERATION}`
}

function tooEarly({ setAside }: Tally): string | false {
  const early = setAside.filter(({ reason }) => reason === 'DecidedTooEarly')
  return (
    early.length > 0 &&
    `approved too early, before all it names was there, by ${names(early.map((mark) => mark.approver))}`
  )
}

function startedOver(reason: NonNullable<Request['startsOver']>): string {
  const what = {
    RealmReplaced: 'the Realm is another one than the request was for',
    SubjectReplaced: 'the User is another one than the request was for',
    DecisionUnproven: 'what decisions on this generation were about is not known any more',
  }[reason]
  return `${what}; decisions made so far do not count: ${NEW_GENERATION}`
}

function notEnforced({ enforcement }: DecisionInput): string {
  return enforcement.mode === 'gap'
    ? 'nothing new is granted while admission does not hold approvers to the rules (see ApprovalEnforced of the Realm)'
    : 'nothing new is granted until it is known that admission holds approvers to the rules'
}
