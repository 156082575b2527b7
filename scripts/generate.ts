/**
 * Writes every generated file: the TypeScript types and the reference page of each CRD, and the chart's copies of crds/.
 * With --check it writes nothing, names the files that differ and exits with 1.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KIND_NAMES, kindSchema } from '../crds/schemas.ts'
import { chartFiles } from './generate/chart_files.ts'
import { referenceOf } from './generate/reference.ts'
import { typesOf } from './generate/types.ts'

const root = join(import.meta.dirname, '..')

/** Every generated file by its path in the checkout. */
async function generatedFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for (const kind of KIND_NAMES) {
    const schema = kindSchema(kind)!
    files.set(`crds/${snakeCase(kind)}.gen.ts`, await typesOf(schema))
    files.set(`docs/reference/${snakeCase(kind)}.md`, referenceOf(schema))
  }
  for (const [path, text] of chartFiles(root)) files.set(path, text)
  return files
}

/** The paths of the files that differ from a fresh generation. */
export async function outdatedFiles(): Promise<string[]> {
  const files = [...(await generatedFiles())]
  return files.filter(([path, text]) => present(join(root, path)) !== text).map(([path]) => path)
}

function snakeCase(kind: string): string {
  return kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
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
