import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

export interface SourceFile {
  /** From the root of the checkout: `store/clients.ts`. */
  path: string
  text: string
  /** What it imports: files of ours by their path from the root, packages by the name given. */
  imports: string[]
}

/** The folders that hold source, in the order in which a resource passes through them. */
export const FOLDERS = [
  'crds',
  'kubernetes',
  'keyring',
  'store',
  'process',
  'operator',
  'server',
  'cli',
  'scripts',
  'bench',
  'test',
]

/** Every .ts file of ours, generated ones included. */
export function sourceFiles(folders: string[] = FOLDERS): SourceFile[] {
  return folders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: ROOT }))
    .toSorted()
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8')
      return { path, text, imports: importsOf(path, text) }
    })
}

/** The first folder of a path. */
export function folderOf(path: string): string {
  return path.split('/', 1)[0] ?? ''
}

const IMPORTS = [
  // import … from '…' and export … from '…', types as well, over several lines.
  /^\s*(?:import|export)\s[^'";]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]/g,
]

function importsOf(path: string, text: string): string[] {
  const code = withoutComments(text)
  const specifiers = IMPORTS.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1] ?? ''))
  return specifiers.map((specifier) =>
    specifier.startsWith('.') ? relative(ROOT, join(ROOT, dirname(path), specifier)) : specifier,
  )
}

/** The text without whole-line and block comments, which may show code. */
export function withoutComments(text: string): string {
  return text.replace(/^\s*\/\/.*$/gm, '').replace(/^\s*\/\*[\s\S]*?\*\//gm, '')
}
