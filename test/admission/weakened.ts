import type { AdmissionPolicy, AdmissionPolicyBinding } from '../../crds/policies.ts'
import { shippedPolicies } from '../../crds/policies.ts'
import { ATTACKS } from './attacks.ts'
import { POLICY_NAMES } from './probe.ts'

const { policies: POLICIES, bindings: POLICY_BINDINGS } = shippedPolicies()

/** The policies less one rule, which stand in namespaces of their own. */
export interface Weakened {
  name: string
  policies: AdmissionPolicy[]
  /** By the name of the policy that is bound. */
  bindings?: Map<string, Partial<AdmissionPolicyBinding['spec']>>
  /** What of them still has to refuse something, to show that they act. */
  acting: string[]
  /** Attacks that are let in, by name. */
  attacks: string[]
  /** One that is refused all the same, where the probes of a policy say nothing. */
  refuses?: string
}

const DECISIONS = 'realmkeeper-roleassignment-decisions'
const REQUESTS = 'realmkeeper-roleassignment-requests'
const GOVERNANCE = 'realmkeeper-realm-governance'
const SUBJECT = 'realmkeeper-user-subject'

const others = (name: string): string[] => POLICY_NAMES.filter((each) => each !== name)

/** What belongs to one rule of a policy, in its own words. */
const attacksOn = ({ message, messageExpression }: AdmissionPolicy['spec']['validations'][number]): string[] =>
  ATTACKS.filter(({ said }) => (message ?? messageExpression!).includes(said)).map(({ name }) => name)

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

/** Parts of rules: what stands there, what instead, and the attack that gets in then. */
const WITHOUT_PART: [policy: string, part: string, instead: string, attack: string][] = [
  [
    DECISIONS,
    '(variables.mayApproveAssignment && variables.mayApproveRealm)',
    'variables.mayApproveRealm',
    'who may decide for the Realm, but not here, approves',
  ],
  [
    DECISIONS,
    '(variables.mayApproveAssignment && variables.mayApproveRealm)',
    'variables.mayApproveAssignment',
    'the approver of one realm decides for another one',
  ],
  [
    DECISIONS,
    "has(variables.realmRef.namespace) && variables.realmRef.namespace != '' ? variables.realmRef.namespace : ",
    '',
    'who may decide for Realms of this namespace approves for a Realm elsewhere',
  ],
  [DECISIONS, 'variables.oldEntries != variables.newEntries || ', '', 'an author drops an outdated approval'],
  [
    DECISIONS,
    ' || variables.oldDecisionConditions != variables.newDecisionConditions',
    '',
    'an author removes an outdated condition of an approver',
  ],
  [DECISIONS, 'variables.addedEntries.size() + ', '', 'an account with every right approves by an entry'],
  [DECISIONS, ' + variables.addedDecisionConditions.size()', '', 'star, who may do more than approve, approves'],
  [
    DECISIONS,
    "resource('roleassignments').check('report')",
    "resource('roleassignments').namespace(request.namespace).check('report')",
    'the owner of a namespace says that it is granted there',
  ],
  [
    DECISIONS,
    "resource('roleassignments').check('report')",
    "resource('roleassignments').namespace(request.namespace).check('report')",
    'the owner of a namespace says what was granted there',
  ],
  [
    DECISIONS,
    '(!variables.mayReport && !variables.mayRequestOnBehalf)',
    '!variables.mayReport',
    'eager-gitops, who may do more than approve, approves',
  ],
  [
    DECISIONS,
    '(!variables.mayReport && !variables.mayRequestOnBehalf)',
    '!variables.mayRequestOnBehalf',
    'eager-operator, who may do more than approve, approves',
  ],
  [
    DECISIONS,
    'variables.stored.spec.requestedBy.lowerAscii() != variables.caller.lowerAscii()',
    'true',
    'the requester approves by an entry',
  ],
  [
    DECISIONS,
    'variables.stored.spec.requestedBy.lowerAscii() != variables.caller.lowerAscii()',
    'variables.stored.spec.requestedBy != variables.caller',
    'the requester approves under a name that differs in case',
  ],
  [
    DECISIONS,
    'g.lowerAscii() == variables.stored.spec.requestedBy.lowerAscii()',
    'false',
    'somebody of the group that asks approves',
  ],
  [
    DECISIONS,
    'g.lowerAscii() == variables.stored.spec.requestedBy.lowerAscii()',
    'g == variables.stored.spec.requestedBy',
    'somebody of the group that asks approves, the group in other case',
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
    'an approver puts their denial in the place of the approval of another one',
  ],
  [DECISIONS, "o.decision == 'Approved' && ", '', 'an approver denies anew, with other words'],
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
    'an approver puts their Denied in the place of the Denied of another one',
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
    'an author says that it is granted',
  ],
  [
    DECISIONS,
    '(variables.decides || variables.oldOperatorConditions.all(o, o in variables.newOperatorConditions))',
    'true',
    'an author removes what the operator said',
  ],
  [
    DECISIONS,
    ' && variables.newStatus[k] == variables.oldStatus[k]',
    '',
    'an approver changes the generation that was looked at',
  ],
  [
    DECISIONS,
    '(k in variables.oldStatus && variables.newStatus[k] == variables.oldStatus[k])',
    'true',
    'an author says what was granted',
  ],
  [
    DECISIONS,
    "variables.oldStatus.all(k, k in ['approvals', 'conditions'] || k in variables.newStatus)",
    'true',
    'an author makes the operator forget',
  ],
  [
    GOVERNANCE,
    '(variables.disabled || variables.lowered)',
    'variables.disabled',
    'the owner of a realm asks for fewer approvals',
  ],
]

const MATCHING: Weakened[] = [
  {
    name: 'with decisions looked at in status only',
    ...matching(DECISIONS, { resources: ['roleassignments/status'] }),
    attacks: ['an author approves through a version without the status subresource'],
  },
  {
    name: 'with decisions looked at in objects only',
    ...matching(DECISIONS, { resources: ['roleassignments'] }),
    acting: others(DECISIONS),
    refuses: 'an author approves through a version without the status subresource',
    attacks: ['an author approves with a merge patch'],
  },
  {
    name: 'with decisions looked at in updates only',
    ...matching(DECISIONS, { operations: ['UPDATE'] }),
    attacks: ['an author creates an approved request through that version'],
  },
  {
    name: 'with decisions looked at in creations only',
    ...matching(DECISIONS, { operations: ['CREATE'] }),
    acting: others(DECISIONS),
    refuses: 'an author creates an approved request through that version',
    attacks: ['an author approves with a merge patch'],
  },
  {
    name: 'with requests looked at in updates only',
    ...matching(REQUESTS, { operations: ['UPDATE'] }),
    attacks: ['an author asks under another’s name'],
  },
  {
    name: 'with requests looked at in creations only',
    ...matching(REQUESTS, { operations: ['CREATE'] }),
    acting: others(REQUESTS),
    refuses: 'an author asks under another’s name',
    attacks: ['an author edits what another one asks for'],
  },
  {
    name: 'with requests that are edited taken for unchanged',
    ...changed(REQUESTS, ({ spec }) => replaceIn(spec, ' || object.spec != oldObject.spec', '')),
    acting: others(REQUESTS),
    refuses: 'an author asks under another’s name',
    attacks: ['an author edits what another one asks for'],
  },
  {
    name: 'with governance that may be switched off',
    ...changed(GOVERNANCE, ({ spec }) =>
      replaceIn(spec, '(variables.disabled || variables.lowered)', 'variables.lowered'),
    ),
    acting: others(GOVERNANCE),
    refuses: 'the owner of a realm asks for fewer approvals',
    attacks: ['the owner of a realm disables governance'],
  },
  {
    name: 'with users looked at in updates only',
    ...matching(SUBJECT, { operations: ['UPDATE'] }),
    acting: others(SUBJECT),
    attacks: ['an author makes a user with the sub of another one'],
  },
  {
    name: 'with users looked at in creations only',
    ...matching(SUBJECT, { operations: ['CREATE'] }),
    attacks: ['an author gives a user the sub of another one, having said in status that it is in use'],
  },
  {
    name: 'with decisions let through that a rule cannot be asked of',
    ...changed(DECISIONS, ({ spec }) => {
      spec.failurePolicy = 'Ignore'
    }),
    attacks: ['an author approves beside a condition that is none, through a version without a schema'],
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

/** Under names of their own, bound to the namespaces that carry their label. */
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

/** The policies with one of them changed; one that is left without a rule goes, as no policy can be without any. */
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

/** In the first rule or variable that has it. */
function replaceIn({ variables = [], validations }: AdmissionPolicy['spec'], part: string, instead: string): void {
  const found = [...variables, ...validations].find(({ expression }) => expression.includes(part))
  if (!found) throw new Error(`no rule says ${part}`)
  found.expression = found.expression.replace(part, () => instead)
}
