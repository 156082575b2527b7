import { shippedPolicies } from '../../../crds/policies.ts'
import type { Account } from '../../support/control_plane/account.ts'

const { policies, bindings } = shippedPolicies()

export const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
export const PLURALS = {
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
}
export const POLICY_NAMES = policies.map(({ metadata }) => metadata.name)

export async function installPolicies(admin: Account): Promise<void> {
  for (const object of [...policies, ...bindings]) {
    await admin.do('POST', `${ADMISSION}/${PLURALS[object.kind]}`, object)
  }
}

/** Of those that are installed. */
export async function removePolicies(admin: Account): Promise<void> {
  for (const plural of Object.values(PLURALS)) {
    for (const name of POLICY_NAMES) await admin.call('DELETE', `${ADMISSION}/${plural}/${name}`)
  }
}
