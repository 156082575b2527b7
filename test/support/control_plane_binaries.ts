import type { TestProject } from 'vitest/node'
import type { BinaryPaths } from '../../scripts/control_plane.ts'
import { provideBinaries } from '../../scripts/control_plane.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    controlPlane: BinaryPaths
  }
}

/** Runs once before the first cluster test: builds the missing binaries of the control plane, or says why it cannot. */
export default async function controlPlaneBinaries(project: TestProject): Promise<void> {
  project.provide('controlPlane', await provideBinaries((line) => console.log(`control plane: ${line}`)))
}
