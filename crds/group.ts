/** The API group of the custom resources. */
export const GROUP = 'realmkeeper.io'

/** `apiVersion` of the custom resources. */
export const API_VERSION = `${GROUP}/v1alpha1`

/** The finalizer with which the operator delays a deletion until the object's rows are removed. */
export const FINALIZER = `${GROUP}/cleanup`
