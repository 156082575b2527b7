// Generated from crds/policies by "npm run generate". Do not edit.
import type { AdmissionPolicy, AdmissionPolicyBinding } from './admission_policy.ts'

export const POLICIES: readonly AdmissionPolicy[] = [
 {
  "apiVersion": "admissionregistration.k8s.io/v1",
  "kind": "ValidatingAdmissionPolicy",
  "metadata": {
   "name": "realmkeeper-roleassignment-decisions",
   "labels": {
    "app.kubernetes.io/name": "realmkeeper",
    "app.kubernetes.io/component": "admission"
   },
   "annotations": {
    "helm.sh/resource-policy": "keep"
   }
  },
  "spec": {
   "failurePolicy": "Fail",
   "matchConstraints": {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "resourceRules": [
     {
      "apiGroups": [
       "realmkeeper.io"
      ],
      "apiVersions": [
       "*"
      ],
      "operations": [
       "CREATE",
       "UPDATE"
      ],
      "resources": [
       "roleassignments",
       "roleassignments/status"
      ],
      "scope": "*"
     }
    ]
   },
   "variables": [
    {
     "name": "me",
     "expression": "request.userInfo.username"
    },
    {
     "name": "stored",
     "expression": "oldObject == null ? dyn(object) : dyn(oldObject)"
    },
    {
     "name": "oldStatus",
     "expression": "oldObject != null && has(oldObject.status) ? dyn(oldObject.status) : dyn({})"
    },
    {
     "name": "newStatus",
     "expression": "has(object.status) ? dyn(object.status) : dyn({})"
    },
    {
     "name": "oldVotes",
     "expression": "has(variables.oldStatus.approvals) ? variables.oldStatus.approvals : []"
    },
    {
     "name": "newVotes",
     "expression": "has(variables.newStatus.approvals) ? variables.newStatus.approvals : []"
    },
    {
     "name": "oldConditions",
     "expression": "has(variables.oldStatus.conditions) ? variables.oldStatus.conditions : []"
    },
    {
     "name": "newConditions",
     "expression": "has(variables.newStatus.conditions) ? variables.newStatus.conditions : []"
    },
    {
     "name": "oldWords",
     "expression": "variables.oldConditions.filter(c, c.type in ['Approved', 'Denied'])"
    },
    {
     "name": "newWords",
     "expression": "variables.newConditions.filter(c, c.type in ['Approved', 'Denied'])"
    },
    {
     "name": "oldResults",
     "expression": "variables.oldConditions.filter(c, !(c.type in ['Approved', 'Denied']))"
    },
    {
     "name": "newResults",
     "expression": "variables.newConditions.filter(c, !(c.type in ['Approved', 'Denied']))"
    },
    {
     "name": "saidVotes",
     "expression": "variables.newVotes.filter(n, !(n in variables.oldVotes))"
    },
    {
     "name": "saidWords",
     "expression": "variables.newWords.filter(n, !(n in variables.oldWords))"
    },
    {
     "name": "lostVotes",
     "expression": "variables.oldVotes.filter(o, has(o.observedGeneration) && o.observedGeneration == variables.stored.metadata.generation && has(o.observedUID) && o.observedUID == variables.stored.metadata.uid && !(o in variables.newVotes))"
    },
    {
     "name": "lostWords",
     "expression": "variables.oldWords.filter(o, has(o.observedGeneration) && o.observedGeneration == variables.stored.metadata.generation && has(o.observedUID) && o.observedUID == variables.stored.metadata.uid && !(o in variables.newWords))"
    },
    {
     "name": "touches",
     "expression": "variables.oldVotes != variables.newVotes || variables.oldWords != variables.newWords"
    },
    {
     "name": "decides",
     "expression": "variables.saidVotes.size() + variables.saidWords.size() + variables.lostVotes.size() + variables.lostWords.size() > 0"
    },
    {
     "name": "ref",
     "expression": "variables.stored.spec.realmRef"
    },
    {
     "name": "realmNamespace",
     "expression": "has(variables.ref.namespace) && variables.ref.namespace != '' ? variables.ref.namespace : request.namespace"
    },
    {
     "name": "mayHere",
     "expression": "authorizer.group('realmkeeper.io').resource('roleassignments').namespace(request.namespace) .name(request.name).check('approve').allowed()"
    },
    {
     "name": "mayRealm",
     "expression": "authorizer.group('realmkeeper.io').resource('realms').namespace(variables.realmNamespace) .name(variables.ref.name).check('approve').allowed()"
    },
    {
     "name": "mayReport",
     "expression": "authorizer.group('realmkeeper.io').resource('roleassignments').check('report').allowed()"
    },
    {
     "name": "mayOnBehalf",
     "expression": "authorizer.group('realmkeeper.io').resource('roleassignments').namespace(request.namespace) .check('request-on-behalf').allowed()"
    }
   ],
   "validations": [
    {
     "expression": "!variables.touches || (variables.mayHere && variables.mayRealm) || (!variables.decides && variables.mayReport)",
     "messageExpression": "variables.me + ' needs the verb approve on roleassignments.realmkeeper.io/' + request.name + ' and on realms.realmkeeper.io/' + variables.ref.name + ' in ' + variables.realmNamespace",
     "reason": "Forbidden"
    },
    {
     "expression": "!variables.decides || (!variables.mayReport && !variables.mayOnBehalf)",
     "messageExpression": "variables.me + ' may also submit for others or write results, so it does not decide; act as an approver (kubectl --as)'",
     "reason": "Forbidden"
    },
    {
     "expression": "!variables.decides || !has(variables.stored.metadata.deletionTimestamp)",
     "message": "it is being deleted",
     "reason": "Invalid"
    },
    {
     "expression": "!variables.decides || (variables.stored.spec.requestedBy.lowerAscii() != variables.me.lowerAscii() && !(has(request.userInfo.groups) && request.userInfo.groups.exists(g, g.lowerAscii() == variables.stored.spec.requestedBy.lowerAscii())))",
     "message": "the requester cannot decide",
     "reason": "Forbidden"
    },
    {
     "expression": "variables.saidVotes.all(v, v.approver == variables.me)",
     "message": "an entry names its own author as approver",
     "reason": "Forbidden"
    },
    {
     "expression": "variables.saidWords.all(c, has(c.decidedBy) && c.decidedBy == variables.me)",
     "messageExpression": "'a condition Approved or Denied has decidedBy: ' + variables.me",
     "reason": "Forbidden"
    },
    {
     "expression": "variables.saidVotes.all(v, has(v.observedGeneration) && v.observedGeneration == variables.stored.metadata.generation && has(v.observedUID) && v.observedUID == variables.stored.metadata.uid) && variables.saidWords.all(c, has(c.observedGeneration) && c.observedGeneration == variables.stored.metadata.generation && has(c.observedUID) && c.observedUID == variables.stored.metadata.uid)",
     "messageExpression": "'a decision names what was seen: observedGeneration: ' + string(variables.stored.metadata.generation) + ', observedUID: ' + variables.stored.metadata.uid",
     "reason": "Invalid"
    },
    {
     "expression": "variables.lostVotes.all(o, o.approver == variables.me && o.decision == 'Approved' && variables.newVotes.exists(n, n.approver == variables.me && n.decision == 'Denied'))",
     "message": "an entry stays while it covers the present generation (its author may turn Approved into Denied); to keep other entries use: realmkeeper approve, or kubectl apply --server-side --subresource=status",
     "reason": "Invalid"
    },
    {
     "expression": "variables.lostWords.all(o, o.type == 'Approved' && variables.saidWords.exists(n, n.type == 'Denied'))",
     "message": "Approved and Denied stay while they cover the present generation (Denied may take the place of Approved)",
     "reason": "Invalid"
    },
    {
     "expression": "variables.saidWords.all(c, c.status == 'True' && has(c.reason) && c.reason != '')",
     "message": "Approved and Denied have status True and a reason",
     "reason": "Invalid"
    },
    {
     "expression": "variables.newWords.filter(c, has(c.observedGeneration) && c.observedGeneration == variables.stored.metadata.generation && has(c.observedUID) && c.observedUID == variables.stored.metadata.uid).size() <= 1",
     "message": "one of Approved and Denied",
     "reason": "Invalid"
    },
    {
     "expression": "variables.newVotes.all(v, variables.newVotes.exists_one(w, w.approver == v.approver))",
     "message": "one entry for each approver",
     "reason": "Invalid"
    },
    {
     "expression": "variables.mayReport || (variables.newResults.all(n, n in variables.oldResults) && (variables.decides || variables.oldResults.all(o, o in variables.newResults)))",
     "message": "conditions other than Approved and Denied are the operator's",
     "reason": "Forbidden"
    },
    {
     "expression": "variables.mayReport || (variables.newStatus.all(k, k in ['approvals', 'conditions'] || (k in variables.oldStatus && variables.newStatus[k] == variables.oldStatus[k])) && variables.oldStatus.all(k, k in ['approvals', 'conditions'] || k in variables.newStatus))",
     "message": "status other than approvals, Approved and Denied is the operator's",
     "reason": "Forbidden"
    }
   ]
  }
 },
 {
  "apiVersion": "admissionregistration.k8s.io/v1",
  "kind": "ValidatingAdmissionPolicy",
  "metadata": {
   "name": "realmkeeper-roleassignment-requests",
   "labels": {
    "app.kubernetes.io/name": "realmkeeper",
    "app.kubernetes.io/component": "admission"
   },
   "annotations": {
    "helm.sh/resource-policy": "keep"
   }
  },
  "spec": {
   "failurePolicy": "Fail",
   "matchConstraints": {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "resourceRules": [
     {
      "apiGroups": [
       "realmkeeper.io"
      ],
      "apiVersions": [
       "*"
      ],
      "operations": [
       "CREATE",
       "UPDATE"
      ],
      "resources": [
       "roleassignments",
       "roleassignments/*"
      ],
      "scope": "*"
     }
    ]
   },
   "variables": [
    {
     "name": "me",
     "expression": "request.userInfo.username"
    },
    {
     "name": "changed",
     "expression": "oldObject == null || object.spec != oldObject.spec"
    },
    {
     "name": "onBehalf",
     "expression": "authorizer.group('realmkeeper.io').resource('roleassignments').namespace(request.namespace) .check('request-on-behalf').allowed()"
    }
   ],
   "validations": [
    {
     "expression": "!variables.changed || object.spec.requestedBy == variables.me || variables.onBehalf",
     "messageExpression": "'spec.requestedBy has to be ' + variables.me",
     "reason": "Forbidden"
    }
   ]
  }
 },
 {
  "apiVersion": "admissionregistration.k8s.io/v1",
  "kind": "ValidatingAdmissionPolicy",
  "metadata": {
   "name": "realmkeeper-realm-governance",
   "labels": {
    "app.kubernetes.io/name": "realmkeeper",
    "app.kubernetes.io/component": "admission"
   },
   "annotations": {
    "helm.sh/resource-policy": "keep"
   }
  },
  "spec": {
   "failurePolicy": "Fail",
   "matchConstraints": {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "resourceRules": [
     {
      "apiGroups": [
       "realmkeeper.io"
      ],
      "apiVersions": [
       "*"
      ],
      "operations": [
       "UPDATE"
      ],
      "resources": [
       "realms",
       "realms/*"
      ],
      "scope": "*"
     }
    ]
   },
   "variables": [
    {
     "name": "old",
     "expression": "has(oldObject.spec.identityGovernance) ? dyn(oldObject.spec.identityGovernance) : dyn({})"
    },
    {
     "name": "new",
     "expression": "has(object.spec.identityGovernance) ? dyn(object.spec.identityGovernance) : dyn({})"
    },
    {
     "name": "switchedOff",
     "expression": "has(variables.old.enabled) && variables.old.enabled && !(has(variables.new.enabled) && variables.new.enabled)"
    },
    {
     "name": "fewer",
     "expression": "(has(variables.new.requiredApprovals) ? variables.new.requiredApprovals : 1) < (has(variables.old.requiredApprovals) ? variables.old.requiredApprovals : 1)"
    }
   ],
   "validations": [
    {
     "expression": "!(variables.switchedOff || variables.fewer) || authorizer.group('realmkeeper.io').resource('realms').namespace(request.namespace).name(request.name) .check('approve').allowed()",
     "messageExpression": "'to lower requiredApprovals or disable identityGovernance needs the verb approve on realms.realmkeeper.io/' + request.name",
     "reason": "Forbidden"
    }
   ]
  }
 },
 {
  "apiVersion": "admissionregistration.k8s.io/v1",
  "kind": "ValidatingAdmissionPolicy",
  "metadata": {
   "name": "realmkeeper-user-subject",
   "labels": {
    "app.kubernetes.io/name": "realmkeeper",
    "app.kubernetes.io/component": "admission"
   },
   "annotations": {
    "helm.sh/resource-policy": "keep"
   }
  },
  "spec": {
   "failurePolicy": "Fail",
   "matchConstraints": {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "resourceRules": [
     {
      "apiGroups": [
       "realmkeeper.io"
      ],
      "apiVersions": [
       "*"
      ],
      "operations": [
       "CREATE",
       "UPDATE"
      ],
      "resources": [
       "users",
       "users/*"
      ],
      "scope": "*"
     }
    ]
   },
   "validations": [
    {
     "expression": "!has(object.spec.subject) || (oldObject != null && has(oldObject.spec.subject) && oldObject.spec.subject == object.spec.subject) || authorizer.group('realmkeeper.io').resource('users').namespace(request.namespace).check('set-subject').allowed()",
     "messageExpression": "request.userInfo.username + ' needs the verb set-subject on users.realmkeeper.io: who holds a sub reads what was encrypted for it'",
     "reason": "Forbidden"
    }
   ]
  }
 }
]

/** One for each policy, under its name. */
export const POLICY_BINDINGS: readonly AdmissionPolicyBinding[] = [
 {
  "apiVersion": "admissionregistration.k8s.io/v1",
  "kind": "ValidatingAdmissionPolicyBinding",
  "metadata": {
   "name": "realmkeeper-roleassignment-decisions",
   "labels": {
    "app.kubernetes.io/name": "realmkeeper",
    "app.kubernetes.io/component": "admission"
   },
   "annotations": {
    "helm.sh/resource-policy": "keep"
   }
  },
  "spec": {
   "policyName": "realmkeeper-roleassignment-decisions",
   "validationActions": [
    "Deny"
   ]
  }
 },
 {
  "apiVersion": "admissionregistration.k8s.io/v1",
  "kind": "ValidatingAdmissionPolicyBinding",
  "metadata": {
   "name": "realmkeeper-roleassignment-requests",
   "labels": {
    "app.kubernetes.io/name": "realmkeeper",
    "app.kubernetes.io/component": "admission"
   },
   "annotations": {
    "helm.sh/resource-policy": "keep"
   }
  },
  "spec": {
   "policyName": "realmkeeper-roleassignment-requests",
   "validationActions": [
    "Deny"
   ]
  }
 },
 {
  "apiVersion": "admissionregistration.k8s.io/v1",
  "kind": "ValidatingAdmissionPolicyBinding",
  "metadata": {
   "name": "realmkeeper-realm-governance",
   "labels": {
    "app.kubernetes.io/name": "realmkeeper",
    "app.kubernetes.io/component": "admission"
   },
   "annotations": {
    "helm.sh/resource-policy": "keep"
   }
  },
  "spec": {
   "policyName": "realmkeeper-realm-governance",
   "validationActions": [
    "Deny"
   ]
  }
 },
 {
  "apiVersion": "admissionregistration.k8s.io/v1",
  "kind": "ValidatingAdmissionPolicyBinding",
  "metadata": {
   "name": "realmkeeper-user-subject",
   "labels": {
    "app.kubernetes.io/name": "realmkeeper",
    "app.kubernetes.io/component": "admission"
   },
   "annotations": {
    "helm.sh/resource-policy": "keep"
   }
  },
  "spec": {
   "policyName": "realmkeeper-user-subject",
   "validationActions": [
    "Deny"
   ]
  }
 }
]
