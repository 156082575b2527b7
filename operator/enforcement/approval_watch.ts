import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { loggableText } from '../../process/loggable.ts'
import { findEnforcementRecord, saveEnforcementRecord } from '../../store/approval_enforcement.ts'
import type { EnforcementRecord, PolicyIdentities } from '../../store/approval_enforcement.ts'
import { Deposed } from '../../store/operator_epoch.ts'
import type { ApprovalEnforcement } from './approval_enforcement.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { NotYet } from '../view/view.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import type { StoreAccess } from '../rows/store_access.ts'
import { isStillSo } from './confirm.ts'
import { judge, UNKNOWN } from './judge.ts'
import type { Act, Finding, Standing } from './judge.ts'
import { lookAtPolicies } from './look.ts'
import { NoAnswer } from './policy_access.ts'
import type { PolicyAccess } from './policy_access.ts'
import { said } from './said.ts'
import { setAsideDecisions } from './set_aside.ts'
import { doStatusesAgree } from './statuses_agree.ts'

export interface ApprovalWatchOptions {
  access: PolicyAccess
  /** `--require-approval-enforcement` */
  required: boolean
  /** `--trust-existing-decisions`: an empty record is no gap. */
  trustExisting: boolean
  clock: Clock
  log: Logger
}

/** What a process that leads brings with it. */
export interface Leading {
  store: StoreAccess
  /** RoleAssignments as reconcilers see them, which may be behind. */
  cached: () => RoleAssignmentResource[]
  /** Another answer than before: every Realm and RoleAssignment is looked at again. */
  changed: () => void
  onDeposed: (error: Deposed) => void
}

/** Knows whether admission holds approvers to the rules, and keeps looking. */
export interface ApprovalWatch {
  /** For `ReconcilerDeps.approvalEnforcement`. */
  current(): ApprovalEnforcement
  /** To be called once this process leads, before anything is reconciled; the first look is over when it resolves. */
  begin(leading: Leading): Promise<void>
  stop(): Promise<void>
}

const CHECK_MILLIS = 60_000
/** While the answer is not yet that all is well. */
const SOON_MILLIS = 2_000

export function approvalWatch({ access, required, trustExisting, clock, log }: ApprovalWatchOptions): ApprovalWatch {
  let leading: Leading | undefined
  let standing: Standing = UNKNOWN
  let record: EnforcementRecord | undefined
  /** With which policies a decision of the operator's own was refused last. */
  let refusedWith: PolicyIdentities | undefined
  let nextLook: Promise<Finding> | undefined
  let turn: Promise<unknown> = Promise.resolve()
  let cancelTimer = (): void => {}
  let unwatch: (() => Promise<void>) | undefined
  let ticking: Promise<void> = Promise.resolve()
  let stopped = false
  /** Something changed since the last check began. */
  let isDirty = false
  let hasBegun = false

  function current(): ApprovalEnforcement {
    return { ...said(standing), required, statusTrusted: isStatusTrusted(), prove }
  }

  function isStatusTrusted(): boolean {
    return standing.mode === 'enforced' && record?.statusesAgree === true
  }

  /** One after the other: each judges by what the one before it remembered. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = turn.then(work, work)
    turn = mine.catch(() => undefined)
    return mine
  }

  /** A look that begins after this call; those who come before it begins share it. */
  function lookAfterNow(): Promise<Finding> {
    nextLook ??= inTurn(() => {
      nextLook = undefined
      return look(false)
    })
    return nextLook
  }

  /** @param full try a decision whether or not one was refused with these policies before */
  async function look(full: boolean): Promise<Finding> {
    const { finding, trial } = await lookAtPolicies(
      access,
      (identities) => full || standing.mode === 'gap' || !isDeepStrictEqual(refusedWith, identities),
    )
    if (trial) refusedWith = trial === 'refused' && finding.outcome === 'good' ? finding.identities : undefined
    const before = standing
    const { standing: after, act } = judge(standing, finding, { record, trustExisting, at: clock.now() })
    // A gap holds from here on, also if it cannot be written down at once.
    if (after.mode === 'gap') standing = after
    try {
      await doAct(act, finding)
      if (act !== 'end') standing = after
    } finally {
      tell(before)
    }
    return finding
  }

  function tell(before: Standing): void {
    const [was, is] = [said(before), said(standing)]
    if (isDeepStrictEqual(was, is)) return
    const about = { mode: is.mode, reason: is.reason }
    if (is.mode === 'enforced') log.info(about, is.message)
    else log.warn(about, loggableText(is.message))
    if (hasBegun) leading?.changed()
  }

  async function doAct(act: Act, finding: Finding): Promise<void> {
    if (act === 'open' && record) await save({ ...record, gapSince: lead().store.now(), statusesAgree: false })
    if (finding.outcome !== 'good') return
    const { identities } = finding
    if (act === 'trust') await save({ identities, gapSince: null, statusesAgree: true })
    if (act === 'end') await endGap(identities)
  }

  /** What stands in any status now was perhaps written by nobody who may: from here on only what comes later counts. */
  async function endGap(identities: PolicyIdentities): Promise<void> {
    const { store, cached } = lead()
    const live = await access.listAssignments().catch((error: unknown) => {
      if (error instanceof NoAnswer) return undefined
      throw error
    })
    if (!live) return
    // What a reconciler may still have in hand counts as there, too.
    for (const resource of [...live, ...cached()]) {
      const approvers = await setAsideDecisions(store, resource)
      if (approvers.length === 0) continue
      const { namespace, name } = resource.metadata
      log.warn(
        { resource: `RoleAssignment/${namespace}/${name}`, approvals: approvers.length },
        'not proven: set aside',
      )
    }
    const { finding } = await lookAtPolicies(access, () => true)
    const { standing: after, act } = judge(standing, finding, { record, trustExisting, at: clock.now() })
    if (finding.outcome !== 'good' || act !== 'end' || !isDeepStrictEqual(finding.identities, identities)) {
      standing = after
      return
    }
    await save({ identities, gapSince: null, statusesAgree: false })
    standing = { mode: 'enforced', provenAt: clock.now() }
  }

  async function save(next: EnforcementRecord): Promise<void> {
    await lead().store.transaction((db) => saveEnforcementRecord(db, next))
    record = next
  }

  function lead(): Leading {
    if (!leading) throw new NotYet('this process does not lead yet')
    return leading
  }

  async function prove(resource: RoleAssignmentResource): Promise<ApprovalEnforcement> {
    lead()
    const [finding, live] = await Promise.all([
      lookAfterNow(),
      access.readAssignment(resource.metadata).catch((error: unknown) => {
        if (error instanceof NoAnswer) throw new NotYet(error.message)
        throw error
      }),
    ])
    if (standing.mode === 'gap') return current()
    if (finding.outcome === 'no_answer') throw new NotYet(finding.message)
    // Nothing could be tried, although this object is there to try on.
    if (refusedWith === undefined) throw new NotYet('admission could not be tried on a RoleAssignment yet')
    if (!isStillSo(resource, live)) throw new NotYet('it changed since it was read')
    return current()
  }

  async function check(): Promise<void> {
    isDirty = false
    await inTurn(() => look(true))
    if (standing.mode === 'enforced' && record && !record.statusesAgree) await inTurn(agree)
  }

  async function agree(): Promise<void> {
    if (!record || !(await doStatusesAgree(access, lead().store.db))) return
    const { finding } = await lookAtPolicies(access, () => false)
    if (finding.outcome === 'good' && isDeepStrictEqual(finding.identities, record.identities)) {
      await save({ ...record, statusesAgree: true })
    }
  }

  function tickIn(millis: number): void {
    cancelTimer()
    if (stopped) return
    cancelTimer = clock.after(millis, () => {
      ticking = check().catch((error: unknown) => {
        if (error instanceof Deposed) leading?.onDeposed(error)
        else log.warn({ err: error }, 'the admission policies could not be looked at; it is tried again')
      })
      void ticking.finally(() => tickIn(nextCheckMillis()))
    })
  }

  function nextCheckMillis(): number {
    if (isDirty) return 0
    return standing.mode === 'enforced' && record?.statusesAgree ? CHECK_MILLIS : SOON_MILLIS
  }

  return {
    current,
    async begin(with_) {
      // Also a second time, when what follows this failed.
      await unwatch?.()
      leading = with_
      record = await findEnforcementRecord(with_.store.db)
      await inTurn(() => look(true))
      hasBegun = true
      unwatch = access.watch(() => {
        isDirty = true
        tickIn(0)
      })
      tickIn(nextCheckMillis())
    },
    async stop() {
      stopped = true
      cancelTimer()
      await unwatch?.()
      unwatch = undefined
      await ticking
      await turn
    },
  }
}
