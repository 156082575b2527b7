/** The API group of the custom resources. */
export const GROUP = 'realmkeeper.io'

/** `apiVersion` of the custom resources: the version that is stored, and that this project reads and writes. */
export const API_VERSION = `${GROUP}/v1beta1`

/** Also served, with the same schema, for manifests that were written for it. */
const FORMER_API_VERSION = `${GROUP}/v1alpha1`

/** Every version of a manifest. */
export const API_VERSIONS: readonly string[] = [API_VERSION, FORMER_API_VERSION]

/** The finalizer with which the operator delays a deletion until the object's rows are removed. */
export const FINALIZER = `${GROUP}/cleanup`
