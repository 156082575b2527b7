import type { AdmissionPolicy, AdmissionPolicyBinding } from '../../crds/policies.ts'
import { shippedPolicies } from '../../crds/policies.ts'
import { ATTACKS } from './attacks.ts'
import { POLICY_NAMES } from './probe.ts'

const { policies: POLICIES, bindings: POLICY_BINDINGS } = shippedPolicies()

/** The policies without one rule, bound to a namespace of their own. */
export interface Weakened {
  name: string
  policies: AdmissionPolicy[]
  /** Name of the bound policy. */
  bindings?: Map<string, Partial<AdmissionPolicyBinding['spec']>>
  /** Names of the policies that still refuse a probe, to show that they are in force. */
  acting: string[]
  /** Names of the attacks that pass. */
  attacks: string[]
  /** Name of an attack that is still refused, for policies whose probes pass. */
  refuses?: string
}

const DECISIONS = 'realmkeeper-roleassignment-decisions'
const REQUESTS = 'realmkeeper-roleassignment-requests'
const GOVERNANCE = 'realmkeeper-realm-governance'
const SUBJECT = 'realmkeeper-user-subject'

const others = (name: string): string[] => POLICY_NAMES.filter((each) => each !== name)

/** The attacks whose refusal is the message of one rule. */
const attacksOn = ({ message, messageExpression }: AdmissionPolicy['spec']['validations'][number]): string[] =>
  ATTACKS.filter(({ refusal }) => (message ?? messageExpression!).includes(refusal)).map(({ name }) => name)

const WITHOUT_RULE: Weakened[] = POLICIES.flatMap(({ metadata, spec }) =>
  spec.validations.map((validation, index) => ({
    name: `without ${metadata.name}: ${validation.message ?? validation.messageExpression}`,
    ...changed(metadata.name, (policy) => policy.spec.validations.splice(index, 1)),
    attacks: attacksOn(validation),
  })),
)

const UNBOUND: Weakened[] = POLICIES.map(({ metadata: { name }, spec }) => ({
  name: `with ${name} bound to note only`,
  policies: [...POLICIES],
  bindings: new Map([[name, { validationActions: ['Audit'] }]]),
  acting: others(name),
  attacks: spec.validations.flatMap(attacksOn),
}))

/** Parts of rules: the part, its replacement, and the attack that passes then. */
const WITHOUT_PART: [policy: string, part: string, instead: string, attack: string][] = [
  [
    DECISIONS,
    '(variables.mayApproveAssignment && variables.mayApproveRealm)',
    'variables.mayApproveRealm',
    'an approver for the Realm, but not for this namespace, approves',
  ],
  [
    DECISIONS,
    '(variables.mayApproveAssignment && variables.mayApproveRealm)',
    'variables.mayApproveAssignment',
    'the approver of one realm decides for another realm',
  ],
  [
    DECISIONS,
    "has(variables.realmRef.namespace) && variables.realmRef.namespace != '' ? variables.realmRef.namespace : ",
    '',
    'an approver for Realms of this namespace approves for a Realm in another namespace',
  ],
  [DECISIONS, 'variables.oldEntries != variables.newEntries || ', '', 'an author drops an outdated approval'],
  [
    DECISIONS,
    ' || variables.oldDecisionConditions != variables.newDecisionConditions',
    '',
    'an author removes an outdated condition of an approver',
  ],
  [DECISIONS, 'variables.addedEntries.size() + ', '', 'an account with all rights approves by an entry'],
  [DECISIONS, ' + variables.addedDecisionConditions.size()', '', 'star, who has more rights than approve, approves'],
  [
    DECISIONS,
    "resource('roleassignments').check('report')",
    "resource('roleassignments').namespace(request.namespace).check('report')",
    'the owner of a namespace writes Ready True there',
  ],
  [
    DECISIONS,
    "resource('roleassignments').check('report')",
    "resource('roleassignments').namespace(request.namespace).check('report')",
    'the owner of a namespace writes status.granted there',
  ],
  [
    DECISIONS,
    '(!variables.mayReport && !variables.mayRequestOnBehalf)',
    '!variables.mayReport',
    'eager-gitops, who has more rights than approve, approves',
  ],
  [
    DECISIONS,
    '(!variables.mayReport && !variables.mayRequestOnBehalf)',
    '!variables.mayRequestOnBehalf',
    'eager-operator, who has more rights than approve, approves',
  ],
  [
    DECISIONS,
    '[variables.caller.lowerAscii()]',
    '[variables.caller]',
    'a former requester approves under a name in another letter case',
  ],
  [
    DECISIONS,
    '[variables.caller.lowerAscii()]',
    '[variables.caller]',
    'the requester approves under a name in another letter case',
  ],
  [DECISIONS, 'request.userInfo.groups.map(g, g.lowerAscii())', '[]', 'a member of the requesting group approves'],
  [
    DECISIONS,
    'variables.stored.spec.requestedBy.lowerAscii()',
    'variables.stored.spec.requestedBy',
    'a member of the requesting group approves, with the group in another letter case',
  ],
  [
    DECISIONS,
    '(has(variables.stored.spec.formerRequesters) ? variables.stored.spec.formerRequesters : [])',
    '[]',
    'the writer of the roles approves by an entry after another author has edited the reason',
  ],
  [
    DECISIONS,
    '(has(variables.stored.spec.submittedBy) ? [variables.stored.spec.submittedBy] : [])',
    '[]',
    'the account that submitted a claim approves under a name in another letter case',
  ],
  [DECISIONS, '.map(n, n.lowerAscii())', '', 'a former requester in another letter case approves'],
  [
    REQUESTS,
    'variables.granted.generation == oldObject.metadata.generation',
    'true',
    'an author drops the former requester of a request whose grant describes an earlier generation',
  ],
  [
    REQUESTS,
    'variables.granted.serving.generation == oldObject.metadata.generation',
    'true',
    'an author drops the former requester of a request whose former generation was granted',
  ],
  [
    REQUESTS,
    '!has(variables.granted.startsOver)',
    'true',
    'an author drops the former requester of a request whose content differs from the granted one',
  ],
  [
    REQUESTS,
    ' && !(has(variables.granted.serving.paused) && variables.granted.serving.paused)',
    '',
    'an author drops the former requester of a request whose grant comes from a restored status',
  ],
  [
    REQUESTS,
    'variables.oldFormer.filter(n, !(n in variables.oldNames)) + ',
    '',
    'the requester of a request that was taken over drops the former one',
  ],
  [REQUESTS, 'has(variables.old.requestedBy)', 'false', 'GitOps replaces the requester and forgets the former one'],
  [
    REQUESTS,
    'has(variables.old.submittedBy) && !variables.wasFirstHand',
    'false',
    'GitOps forgets the account that submitted before',
  ],
  [
    REQUESTS,
    '!variables.mayRequestOnBehalf && (oldObject',
    '(oldObject',
    'GitOps requests in its own name as if it had no user behind it',
  ],
  [
    REQUESTS,
    ' && (oldObject == null || variables.isGranted || variables.wasFirstHand)',
    '',
    'another author takes over the claim of GitOps and makes it a proof',
  ],
  [
    DECISIONS,
    'v.observedGeneration == variables.stored.metadata.generation',
    'true',
    'an entry with {"observedGeneration":2}',
  ],
  [
    DECISIONS,
    'v.observedUID == variables.stored.metadata.uid',
    'true',
    'an entry with {"observedUID":"of-another-object"}',
  ],
  [
    DECISIONS,
    'addedDecisionConditions.all(c, has(c.observedGeneration) && c.observedGeneration == variables.stored.metadata.generation',
    'addedDecisionConditions.all(c, true',
    'a condition with observedGeneration: 2',
  ],
  [
    DECISIONS,
    'c.observedUID == variables.stored.metadata.uid)',
    'true)',
    'a condition with observedUID: "of-another-object"',
  ],
  [
    DECISIONS,
    'o.approver == variables.caller && ',
    '',
    'an approver replaces the approval of another approver with their own denial',
  ],
  [DECISIONS, "o.decision == 'Approved' && ", '', 'an approver repeats their denial with another comment'],
  [
    DECISIONS,
    "variables.newEntries.exists(n, n.approver == variables.caller && n.decision == 'Denied')",
    'true',
    'an approver drops their own entry',
  ],
  [
    DECISIONS,
    "o.type == 'Approved' && ",
    '',
    'an approver replaces the Denied of another approver with their own Denied',
  ],
  [
    DECISIONS,
    "variables.addedDecisionConditions.exists(n, n.type == 'Denied')",
    'true',
    'an approver removes their own condition',
  ],
  [DECISIONS, "c.status == 'True' && ", '', 'a condition with status: "False"'],
  [DECISIONS, " && c.reason != ''", '', 'a condition with an empty reason, through a version without a schema'],
  [
    DECISIONS,
    'variables.newOperatorConditions.all(n, n in variables.oldOperatorConditions) && ',
    '',
    'an author writes Ready True',
  ],
  [
    DECISIONS,
    '(variables.decides || variables.oldOperatorConditions.all(o, o in variables.newOperatorConditions))',
    'true',
    'an author removes the operator’s conditions',
  ],
  [
    DECISIONS,
    ' && variables.newStatus[k] == variables.oldStatus[k]',
    '',
    'an approver changes status.observedGeneration',
  ],
  [
    DECISIONS,
    '(k in variables.oldStatus && variables.newStatus[k] == variables.oldStatus[k])',
    'true',
    'an author writes status.granted',
  ],
  [
    DECISIONS,
    "variables.oldStatus.all(k, k in ['approvals', 'conditions'] || k in variables.newStatus)",
    'true',
    'an author removes status.granted',
  ],
  [
    GOVERNANCE,
    'variables.disabled || variables.lowered',
    'variables.disabled',
    'the owner of a realm lowers requiredApprovals',
  ],
  [
    GOVERNANCE,
    'has(namespaceObject.metadata.deletionTimestamp)',
    'true',
    'the owner of a realm deletes it while governance is enabled',
  ],
  [GOVERNANCE, ' || variables.trustsClaims', '', 'the owner of a realm trusts claims'],
  [GOVERNANCE, 'o in variables.oldOwners', 'oldObject != null', 'the owner of a realm gives it another owner'],
  [GOVERNANCE, 'variables.confirmed[0] == object.metadata.uid', 'true', 'an approver confirms a realm of another uid'],
  [
    GOVERNANCE,
    'variables.confirmed[1] == string(object.metadata.generation)',
    'true',
    'an approver confirms another version than the present one',
  ],
  [
    GOVERNANCE,
    '(variables.mayApprove && authorizer',
    '(true && authorizer',
    'an approver of another realm confirms the governance of this one',
  ],
  [
    GOVERNANCE,
    '.namespace(variables.confirmed[2]).name(variables.confirmed[3])',
    '.namespace(request.namespace).name(variables.name)',
    'the approver of one realm confirms what was remembered of another realm',
  ],
]

const MATCHING: Weakened[] = [
  {
    name: 'with decisions checked in status only',
    ...matching(DECISIONS, { resources: ['roleassignments/status'] }),
    attacks: ['an author approves through a version without the status subresource'],
  },
  {
    name: 'with decisions checked in objects only',
    ...matching(DECISIONS, { resources: ['roleassignments'] }),
    acting: others(DECISIONS),
    refuses: 'an author approves through a version without the status subresource',
    attacks: ['an author approves with a merge patch'],
  },
  {
    name: 'with decisions checked in updates only',
    ...matching(DECISIONS, { operations: ['UPDATE'] }),
    attacks: ['an author creates an approved request through that version'],
  },
  {
    name: 'with decisions checked in creations only',
    ...matching(DECISIONS, { operations: ['CREATE'] }),
    acting: others(DECISIONS),
    refuses: 'an author creates an approved request through that version',
    attacks: ['an author approves with a merge patch'],
  },
  {
    name: 'with decisions checked in one served version only',
    ...changed(DECISIONS, ({ spec }) => {
      spec.matchConstraints.matchPolicy = 'Exact'
      spec.matchConstraints.resourceRules[0]!.apiVersions = ['v1alpha1']
    }),
    refuses: 'an author approves with a merge patch',
    attacks: ['an author approves through another served version'],
  },
  {
    name: 'with requests checked in updates only',
    ...matching(REQUESTS, { operations: ['UPDATE'] }),
    attacks: ['an author requests under the name of another user'],
  },
  {
    name: 'with requests checked in creations only',
    ...matching(REQUESTS, { operations: ['CREATE'] }),
    acting: others(REQUESTS),
    refuses: 'an author requests under the name of another user',
    attacks: ['an author edits the request of another author'],
  },
  {
    name: 'with edited requests treated as unchanged',
    ...changed(REQUESTS, ({ spec }) => replaceIn(spec, ' || object.spec != oldObject.spec', '')),
    acting: others(REQUESTS),
    refuses: 'an author requests under the name of another user',
    attacks: ['an author edits the request of another author'],
  },
  {
    name: 'with governance that any owner may disable',
    ...changed(GOVERNANCE, ({ spec }) =>
      replaceIn(spec, 'variables.disabled || variables.lowered', 'variables.lowered'),
    ),
    attacks: ['the owner of a realm disables governance'],
  },
  {
    name: 'with realms not checked when they are deleted',
    ...matching(GOVERNANCE, { operations: ['CREATE', 'UPDATE'] }),
    attacks: ['the owner of a realm deletes all realms with a label'],
  },
  {
    name: 'with realms not checked when they are created',
    ...matching(GOVERNANCE, { operations: ['UPDATE', 'DELETE'] }),
    attacks: ['an author creates a realm that has an owner'],
  },
  {
    name: 'with users checked in updates only',
    ...matching(SUBJECT, { operations: ['UPDATE'] }),
    acting: others(SUBJECT),
    attacks: ['an author creates a user with the sub of another user'],
  },
  {
    name: 'with users checked in creations only',
    ...matching(SUBJECT, { operations: ['CREATE'] }),
    attacks: ['an author gives a user the sub of another user after writing in status that it is in use'],
  },
  {
    name: 'with decisions admitted when a rule cannot be evaluated',
    ...changed(DECISIONS, ({ spec }) => {
      spec.failurePolicy = 'Ignore'
    }),
    attacks: ['an author approves next to a condition that is null, through a version without a schema'],
  },
]

export const WEAKENED: Weakened[] = [
  ...WITHOUT_RULE,
  ...UNBOUND,
  ...WITHOUT_PART.map(([policy, part, instead, attack]) => ({
    name: `with ${instead === '' ? 'nothing' : instead} in the place of ${part}, so that ${attack}`,
    ...changed(policy, ({ spec }) => replaceIn(spec, part, instead)),
    attacks: [attack],
  })),
  ...MATCHING,
]

/** Renames the policies and binds them to the namespaces with their label. */
export function limited({ policies, bindings }: Weakened, index: number): (AdmissionPolicy | AdmissionPolicyBinding)[] {
  return policies.flatMap((policy) => {
    const name = `${policy.metadata.name}-less-${index}`
    const binding = POLICY_BINDINGS.find(({ metadata }) => metadata.name === policy.metadata.name)!
    const matchResources = { namespaceSelector: { matchLabels: { 'less-one-rule': `${index}` } } }
    const spec = { ...binding.spec, ...bindings?.get(policy.metadata.name), policyName: name, matchResources }
    return [
      { ...policy, metadata: { ...policy.metadata, name } },
      { ...binding, metadata: { ...binding.metadata, name }, spec },
    ]
  })
}

/** The policies with one of them changed. A policy without any rule is invalid and left out. */
function changed(name: string, change: (policy: AdmissionPolicy) => void): Pick<Weakened, 'policies' | 'acting'> {
  const policies = structuredClone([...POLICIES])
  change(policies.find(({ metadata }) => metadata.name === name)!)
  const left = policies.filter(({ spec }) => spec.validations.length > 0)
  const names = left.map(({ metadata }) => metadata.name)
  return { policies: left, acting: POLICY_NAMES.filter((each) => names.includes(each)) }
}

function matching(name: string, rule: { resources?: string[]; operations?: string[] }) {
  return changed(name, ({ spec }) => Object.assign(spec.matchConstraints.resourceRules[0]!, rule))
}

/** In the first rule or variable that contains it. */
function replaceIn({ variables = [], validations }: AdmissionPolicy['spec'], part: string, instead: string): void {
  const found = [...variables, ...validations].find(({ expression }) => expression.includes(part))
  if (!found) throw new Error(`no rule says ${part}`)
  found.expression = found.expression.replace(part, () => instead)
}
