import { isDeepStrictEqual } from 'node:util'
import { loggableText } from '../../process/loggable.ts'
import { findEnforcementRecord, saveEnforcementRecord } from '../../store/operator/approval_enforcement.ts'
import type { EnforcementRecord, PolicyIdentities } from '../../store/operator/approval_enforcement.ts'
import { Deposed } from '../../store/operator/epoch.ts'
import type { RealmResource, RoleAssignmentResource } from '../view/resource_types.ts'
import { NotYet } from '../view/view.ts'
import { answeredOrNone, throwNotYet } from './api_answers.ts'
import { describeState } from './approval_enforcement.ts'
import type { ApprovalEnforcement } from './approval_enforcement.ts'
import { INITIAL_STATE, nextState } from './gap.ts'
import type { CheckResult, EnforcementState, NextState, Passed } from './gap.ts'
import type { EnforcementCheckOptions, LeaderContext } from './check_options.ts'
import { markConfirmations } from './realms/mark_confirmations.ts'
import { markGap } from './mark_gap.ts'
import { nextRecord } from './next_record.ts'
import { checkPolicies } from './policy_check.ts'
import { isRealmProven } from './realms/realm_proof.ts'
import { withGap, withScope } from './scope.ts'
import { shippedSet } from './release/shipped_set.ts'
import { isCurrent, statusesEqualRows } from './stored_decisions.ts'

/**
 * Checks at start, on every change and once a minute whether the admission policies are in force: (a) policies, bindings
 * and CRD equal the shipped ones, and (b) the API server refuses a probe, a decision of the operator itself
 * (`policy_check.ts`). `gap.ts` decides when a gap starts and ends. When a gap ends, all decisions that are not recorded
 * yet, and all specs that were not proven before, become unproven (`mark_gap.ts`).
 */
export interface EnforcementCheck {
  /** For `ReconcilerDeps.approvalEnforcement`. */
  current(): ApprovalEnforcement
  /** To be called when this process leads, before it reconciles. Resolves after the first check. */
  begin(leader: LeaderContext): Promise<void>
  stop(): Promise<void>
}

const CHECK_MILLIS = 60_000
/** While not enforced, and until statuses are trusted. */
const RECHECK_MILLIS = 2_000

export function enforcementCheck(options: EnforcementCheckOptions): EnforcementCheck {
  const { access, required, trustExisting, wasRestored, set = shippedSet(), clock, log } = options
  let leader: LeaderContext | undefined
  let state: EnforcementState = INITIAL_STATE
  let record: EnforcementRecord | undefined
  /** The policies with which the last probe was refused. */
  let probedWith: PolicyIdentities | undefined
  let sharedCheck: Promise<CheckResult> | undefined
  let queue: Promise<unknown> = Promise.resolve()
  let cancelTimer = (): void => {}
  let unwatch: (() => Promise<void>) | undefined
  let periodicCheck: Promise<void> = Promise.resolve()
  let stopped = false
  /** Whether something changed since the last periodic check began. */
  let isDirty = false
  let hasBegun = false
  let isRestored = false

  function current(): ApprovalEnforcement {
    const statusTrusted = state.mode === 'enforced' && record?.statusesAgree === true
    const enforcedSince = state.mode === 'enforced' ? (record?.enforcedSince ?? undefined) : undefined
    return { ...describeState(state), required, statusTrusted, prove, enforcedSince, proveRealm }
  }

  /** Before a decision is recorded or a role granted: checks the policies and reads the object, both from now on. */
  async function prove(resource: RoleAssignmentResource): Promise<ApprovalEnforcement> {
    getLeader()
    const [result, live] = await Promise.all([
      checkFromNow(),
      access.readAssignment(resource.metadata).catch(throwNotYet),
    ])
    if (state.mode === 'gap') return current()
    if (result.outcome === 'no_answer') throw new NotYet(result.message)
    if (probedWith === undefined) throw new NotYet('the operator could not probe admission on a RoleAssignment yet')
    if (!isCurrent(resource, live)) throw new NotYet('the RoleAssignment changed since it was read')
    return current()
  }

  async function proveRealm(realm: RealmResource): Promise<Date | undefined> {
    getLeader()
    const isProven = await isRealmProven(realm, access.realms, checkFromNow())
    return isProven ? current().enforcedSince : undefined
  }

  /** A check that begins after this call. Calls before it begins share it. */
  function checkFromNow(): Promise<CheckResult> {
    sharedCheck ??= inTurn(() => {
      sharedCheck = undefined
      return check({ alwaysProbe: false })
    })
    return sharedCheck
  }

  /** One check after the other: each continues from the state of the one before. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = queue.then(work, work)
    queue = result.catch(() => undefined)
    return result
  }

  async function check({ alwaysProbe }: { alwaysProbe: boolean }): Promise<CheckResult> {
    const { result, probe } = await checkPolicies(
      access,
      (identities) => alwaysProbe || state.mode === 'gap' || !isDeepStrictEqual(probedWith, identities),
      set,
    )
    if (probe) probedWith = probe === 'refused' && result.outcome === 'passed' ? result.identities : undefined
    const before = state
    const next = nextState(state, result, { record, trustExisting, set, at: clock.now() })
    // A gap takes effect even when it cannot be stored at once.
    if (next.state.mode === 'gap') state = next.state
    try {
      await store(next, result)
      if (next.action !== 'end') state = next.state
    } finally {
      report(before)
    }
    return result
  }

  async function store(next: NextState, result: CheckResult): Promise<void> {
    if (next.action === 'end' && result.outcome === 'passed') return endGap(result)
    await saveNext(next, result)
    if (next.action === 'continue')
      log.info('new policies replaced those of a former release, which were in force until then')
  }

  async function saveNext(next: NextState, result: CheckResult): Promise<void> {
    const saved = nextRecord(next, result, { record, scope: access.scope, now: getLeader().store.now() })
    if (saved) await save(saved)
  }

  /** Marks specs and decisions of the gap as unproven. A policy that changes meanwhile keeps the gap open. */
  async function endGap({ identities }: Passed): Promise<void> {
    const [live, realms] = [await answeredOrNone(access.listAssignments()), await answeredOrNone(access.realms.list())]
    if (!live || !realms) return
    await markConfirmations(getLeader().store, realms)
    await markGap(getLeader().store, { live, cached: getLeader().cached() }, log)
    const { result } = await checkPolicies(access, () => true, set)
    const next = nextState(state, result, { record, trustExisting, set, at: clock.now() })
    if (result.outcome !== 'passed' || next.action !== 'end' || !isDeepStrictEqual(result.identities, identities)) {
      state = next.state
      return
    }
    await saveNext(next, result)
    state = { mode: 'enforced', checkedAt: clock.now() }
  }

  /** After a gap, trusts statuses again once they equal the rows. */
  async function compareStatuses(): Promise<void> {
    const live = await answeredOrNone(access.listAssignments())
    if (!record || !live || !(await statusesEqualRows(getLeader().store.db, live))) return
    const { result } = await checkPolicies(access, () => false, set)
    if (result.outcome === 'passed' && isDeepStrictEqual(result.identities, record.identities)) {
      await save({ ...record, statusesAgree: true })
    }
  }

  async function save(next: EnforcementRecord): Promise<void> {
    await getLeader().store.transaction((db) => saveEnforcementRecord(db, next))
    record = next
  }

  function getLeader(): LeaderContext {
    if (!leader) throw new NotYet('this process does not lead yet')
    return leader
  }

  function report(before: EnforcementState): void {
    const [was, is] = [describeState(before), describeState(state)]
    if (isDeepStrictEqual(was, is)) return
    const about = { mode: is.mode, reason: is.reason }
    if (is.mode === 'enforced') log.info(about, is.message)
    else log.warn(about, loggableText(is.message))
    if (hasBegun) leader?.changed()
  }

  async function runPeriodicCheck(): Promise<void> {
    isDirty = false
    await inTurn(() => check({ alwaysProbe: true }))
    if (state.mode === 'enforced' && record && !record.statusesAgree) await inTurn(compareStatuses)
  }

  function scheduleCheck(millis: number): void {
    cancelTimer()
    if (stopped) return
    cancelTimer = clock.after(millis, () => {
      periodicCheck = runPeriodicCheck().catch((error: unknown) => {
        if (error instanceof Deposed) leader?.onDeposed(error)
        else log.warn({ err: error }, 'the check of the admission policies failed; the operator repeats it')
      })
      void periodicCheck.finally(() => scheduleCheck(nextCheckMillis()))
    })
  }

  function nextCheckMillis(): number {
    if (isDirty) return 0
    return state.mode === 'enforced' && record?.statusesAgree ? CHECK_MILLIS : RECHECK_MILLIS
  }

  return {
    current,
    async begin(context) {
      // `begin` is called again when a later step of the start failed.
      await unwatch?.()
      leader = context
      record = await findEnforcementRecord(context.store.db)
      if (wasRestored?.()) isRestored = true
      const at = context.store.now()
      const present = record && withScope(isRestored ? withGap(record, at) : record, access.scope, at)
      if (present && !isDeepStrictEqual(present, record)) await save(present)
      await inTurn(() => check({ alwaysProbe: true }))
      hasBegun = true
      unwatch = access.watch(() => {
        isDirty = true
        scheduleCheck(0)
      })
      scheduleCheck(nextCheckMillis())
    },
    async stop() {
      stopped = true
      cancelTimer()
      await unwatch?.()
      unwatch = undefined
      await periodicCheck
      await queue
    },
  }
}
