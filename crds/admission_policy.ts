/** A ValidatingAdmissionPolicy as it is shipped, with every field that the API server would default. */
export interface AdmissionPolicy {
  apiVersion: 'admissionregistration.k8s.io/v1'
  kind: 'ValidatingAdmissionPolicy'
  metadata: PolicyMetadata
  spec: {
    failurePolicy: string
    matchConstraints: {
      matchPolicy: string
      namespaceSelector: object
      objectSelector: object
      resourceRules: {
        apiGroups: string[]
        apiVersions: string[]
        operations: string[]
        resources: string[]
        scope: string
      }[]
    }
    variables?: { name: string; expression: string }[]
    validations: { expression: string; message?: string; messageExpression?: string; reason: string }[]
  }
}

/** What puts a policy of the same name into force, in the whole cluster. */
export interface AdmissionPolicyBinding {
  apiVersion: 'admissionregistration.k8s.io/v1'
  kind: 'ValidatingAdmissionPolicyBinding'
  metadata: PolicyMetadata
  spec: { policyName: string; validationActions: string[] }
}

interface PolicyMetadata {
  name: string
  labels: Record<string, string>
  annotations: Record<string, string>
}
