/**
 * Writes every generated file: types, schemas and policies beside the CRDs, the chart's copies, and the reference pages.
 * With --check it writes nothing, names the files that differ and exits 1.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { chartFiles } from './generate/chart_files.ts'
import { readCrds } from './generate/crd_files.ts'
import { policiesOf } from './generate/policies.ts'
import { referenceOf } from './generate/reference.ts'
import { schemasOf } from './generate/schemas.ts'
import { typesOf } from './generate/types.ts'

const root = join(import.meta.dirname, '..')

/** Every generated file by its path in the checkout. */
export async function generatedFiles(): Promise<Map<string, string>> {
  const crds = readCrds(join(root, 'crds'))
  const files = new Map<string, string>()
  for (const crd of crds) {
    files.set(`crds/${crd.fileName}.gen.ts`, await typesOf(crd))
    files.set(`docs/reference/${crd.fileName}.md`, referenceOf(crd))
  }
  files.set('crds/schemas.gen.ts', schemasOf(crds))
  files.set('crds/policies.gen.ts', policiesOf(join(root, 'crds/policies')))
  for (const [path, text] of chartFiles(root)) files.set(path, text)
  return files
}

/** The paths whose content is not what a fresh generation gives. */
export async function outdatedFiles(): Promise<string[]> {
  const files = [...(await generatedFiles())]
  return files.filter(([path, text]) => present(join(root, path)) !== text).map(([path]) => path)
}

function present(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

async function main(check: boolean): Promise<void> {
  if (check) {
    const outdated = await outdatedFiles()
    for (const path of outdated) console.error(`${path} differs from a fresh generation: run "npm run generate"`)
    process.exitCode = outdated.length > 0 ? 1 : 0
    return
  }
  for (const [path, text] of await generatedFiles()) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

if (import.meta.main) await main(process.argv.includes('--check'))
