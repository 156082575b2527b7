import { inject } from 'vitest'
import type { BinaryName } from '../../scripts/control_plane.ts'
import { startWithBinaries } from './control_plane/start.ts'
import type { ControlPlane, ControlPlaneOptions } from './control_plane/start.ts'

export { installCrds, untilServed } from './control_plane/start.ts'
export type { ControlPlane } from './control_plane/start.ts'

// Test files that import this module, directly or not, are named *.cluster.test.ts; `npm run test:cluster` runs them.

/** The path of one binary of the control plane. */
export function binaryPath(name: BinaryName): string {
  return inject('controlPlane')[name]
}

/** Starts etcd and an API server for the caller alone, with the CRDs of this checkout. Takes about three seconds. */
export function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  return startWithBinaries(inject('controlPlane'), options)
}
