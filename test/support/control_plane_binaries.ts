import { relative } from 'node:path'
import type { TestProject } from 'vitest/node'
import { findGo } from '../../scripts/control_plane/binaries.ts'
import type { BinaryPaths } from '../../scripts/control_plane/binaries.ts'
import { provideBinaries } from '../../scripts/control_plane/build.ts'
import { ROOT, sourceFiles } from './source_files.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** What there is of a control plane; empty when no selected test needs one. */
    controlPlane: BinaryPaths
  }
}

/**
 * Runs once around a whole test run, before the first test, so that nothing that measures time runs beside a build.
 * Throws when Go is there and a build fails; without Go the suites are skipped.
 */
export default async function controlPlaneBinaries(project: TestProject): Promise<void> {
  const needed = await needsControlPlane(project)
  const say = (line: string): void => console.log(`control plane: ${line}`)
  const binaries = needed ? await provideBinaries({ say }) : {}
  if (needed && binaries['kube-apiserver'] === undefined) {
    const why = process.env.KUBEBUILDER_ASSETS
      ? 'KUBEBUILDER_ASSETS names a folder without kube-apiserver'
      : 'there is no Go to build it'
    if (process.env.KUBEBUILDER_ASSETS || findGo() !== undefined) throw new Error(why)
    say(`${why}, so the tests on a real API server are skipped`)
  }
  project.provide('controlPlane', binaries)
}

/** A run of a few files does not wait for a build that none of them wants. */
async function needsControlPlane(project: TestProject): Promise<boolean> {
  // What was asked for on the command line; undefined is everything.
  const filters: string[] | undefined = Reflect.get(project.vitest, 'filenamePattern')
  const { testFiles } = await project.globTestFiles(filters)
  const imports = new Map(sourceFiles(['test']).map((file) => [file.path, file.imports]))
  const seen = new Set(testFiles.map((path) => relative(ROOT, path)))
  // A set hands out what is added to it on the way.
  for (const path of seen) for (const imported of imports.get(path) ?? []) seen.add(imported)
  return seen.has('test/support/control_plane.ts')
}
