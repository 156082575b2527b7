import type { AdmissionPolicy, AdmissionPolicyBinding } from '../../crds/policies.ts'
import { shippedPolicies } from '../../crds/policies.ts'
import type { Account } from '../support/control_plane/account.ts'

const { policies: POLICIES, bindings: POLICY_BINDINGS } = shippedPolicies()

const API = '/apis/admissionregistration.k8s.io/v1'

export const KINDS = {
  ValidatingAdmissionPolicy: `${API}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: `${API}/validatingadmissionpolicybindings`,
}

/** Creates policies and bindings, by default the shipped ones. They are in force up to a second later. */
export async function installPolicies(
  admin: Account,
  objects: readonly (AdmissionPolicy | AdmissionPolicyBinding)[] = [...POLICIES, ...POLICY_BINDINGS],
): Promise<void> {
  await Promise.all(objects.map((object) => admin.do('POST', KINDS[object.kind], object)))
}

/** Deletes the shipped policies and bindings. They stay in force for up to a second. */
export async function removePolicies(admin: Account): Promise<void> {
  const objects = [...POLICIES, ...POLICY_BINDINGS]
  await Promise.all(objects.map(({ kind, metadata }) => admin.do('DELETE', `${KINDS[kind]}/${metadata.name}`)))
}
