import { inject } from 'vitest'
import type { BinaryName } from '../../scripts/control_plane/binaries.ts'
import { startWithBinaries } from './control_plane/start.ts'
import type { ControlPlane, ControlPlaneOptions } from './control_plane/start.ts'

export { installCrds, untilServed } from './control_plane/start.ts'
export type { ControlPlane } from './control_plane/start.ts'

const binaries = inject('controlPlane')

/** False where there is no Go and no binaries: `describe.skipIf(!hasControlPlane())('…', …)`. */
export function hasControlPlane(...more: BinaryName[]): boolean {
  const needed: BinaryName[] = ['etcd', 'kube-apiserver', ...more]
  return needed.every((name) => binaries[name] !== undefined)
}

/** An etcd and an API server of one's own, with the CRDs of this checkout. About three seconds. */
export function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  return startWithBinaries(binaries, options)
}
