import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { folderOf, FOLDERS, ROOT, sourceFiles, withoutComments } from './support/source_files.ts'
import type { SourceFile } from './support/source_files.ts'

const files = sourceFiles()
const product = files.filter(({ path }) => !['test', 'scripts', 'bench'].includes(folderOf(path)))

/** One line for each file that breaks a law, with the reason. */
function violations(of: SourceFile[], law: (file: SourceFile) => string[]): string[] {
  return of.flatMap((file) => law(file).map((why) => `${file.path}: ${why}`))
}

test('every folder has source files', () => {
  expect(new Set(files.map(({ path }) => folderOf(path)))).toEqual(new Set(FOLDERS))
})

/** The folders that each folder may import, except itself and packages. */
const ALLOWED_IMPORTS: Record<string, string[]> = {
  crds: [],
  keyring: [],
  kubernetes: [],
  process: [],
  store: ['keyring'],
  operator: ['store', 'keyring', 'kubernetes', 'process', 'crds'],
  server: ['store', 'keyring', 'kubernetes', 'process'],
  scripts: ['crds', 'process'],
}

test.for(Object.entries(ALLOWED_IMPORTS))('%s/ imports only itself, packages and %j', ([folder, allowed]) => {
  const found = violations(
    files.filter(({ path }) => folderOf(path) === folder),
    ({ imports }) => imports.filter((path) => isOurs(path) && ![folder, ...allowed].includes(folderOf(path))),
  )
  expect(found).toEqual([])
})

test('nothing imports cli/ or bench/, except themselves and tests', () => {
  const found = violations(
    files.filter(({ path }) => !['cli', 'bench', 'test'].includes(folderOf(path))),
    ({ imports }) => imports.filter((path) => isOurs(path) && ['cli', 'bench', 'test'].includes(folderOf(path))),
  )
  expect(found).toEqual([])
})

const KOA = ['koa', '@koa/router', 'koa-bodyparser'] as const

test.for([
  ['keyring/', ['pg', 'koa']],
  ['kubernetes/', ['pg', 'koa']],
  ['store/', ['koa', '@kubernetes/client-node']],
  ['server/', ['@kubernetes/client-node']],
  ['operator/realm/', ['@kubernetes/client-node', 'pg', 'koa']],
  ['operator/client/', ['@kubernetes/client-node', 'pg', 'koa']],
  ['operator/user/', ['@kubernetes/client-node', 'pg', 'koa']],
  ['operator/role_assignment/', ['@kubernetes/client-node', 'pg', 'koa']],
  ['operator/', ['koa']],
  ['server/actions/', KOA],
  ['server/clients/', KOA],
  ['server/encryption/', KOA],
  ['server/grants/', KOA],
  ['server/passwords/', KOA],
  ['server/realms/', KOA],
  ['server/sessions/', KOA],
  ['server/tokens/', KOA],
] as const)('%s does not import %j', ([folder, forbidden]) => {
  const found = violations(
    files.filter(({ path }) => path.startsWith(folder)),
    ({ imports }) => imports.filter((path) => forbidden.some((name) => path === name || path.startsWith(`${name}/`))),
  )
  expect(found).toEqual([])
})

test('the Kubernetes library is loaded by one file, which no static import of server/ reaches', () => {
  const access = 'kubernetes/kubeconfig_access.ts'
  const importers = product.filter(({ imports }) => imports.includes('@kubernetes/client-node'))
  expect(importers.map(({ path }) => path)).toEqual([access])

  const isStatic = /^\s*(?:import|export)\s[^'";]*?\bfrom\s*['"][^'"]*\/kubeconfig_access\.ts['"]/m
  const found = violations(
    product.filter(({ path }) => ['kubernetes', 'process', 'server'].includes(folderOf(path))),
    ({ text }) => (isStatic.test(withoutComments(text)) ? [access] : []),
  )
  expect(found).toEqual([])
})

test('there are no import cycles, not even of types', () => {
  expect(cycles(files)).toEqual([])
})

test('every import of a source file names it with its ending', () => {
  const found = violations(files, ({ imports }) =>
    imports.filter((path) => isOurs(path) && !(/\.(?:ts|json|mjs)$/.test(path) && existsSync(join(ROOT, path)))),
  )
  expect(found).toEqual([])
})

test('file names are snake_case, and no file is a barrel or a collection of helpers', () => {
  const found = violations(files, ({ path }) => {
    const name = basename(path)
    if (/^(?:index|utils?|helpers?|common|misc)\.ts$/.test(name)) return ['is named after no content']
    return /^[a-z][a-z0-9_]*(?:\.(?:gen|test|cluster\.test|fixture|config))?\.ts$/.test(name)
      ? []
      : ['is not snake_case']
  })
  expect(found).toEqual([])
})

// Folders that still have more files.
const FULL_FOLDERS = ['test']
const MAX_FILES = 15

test(`a folder of the product has at most ${MAX_FILES} files`, () => {
  const counts = new Map<string, number>()
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  const full = [...counts].filter(([folder, count]) => count > MAX_FILES && !FULL_FOLDERS.includes(folderOf(folder)))
  expect(full).toEqual([])
})

test('a file over 250 lines gives the reason in its head', () => {
  const found = violations(files, ({ path, text }) => {
    const lines = text.split('\n').length - 1
    if (lines <= 250 || path.endsWith('.gen.ts') || path.startsWith('test/')) return []
    return /Over 250 lines: \S/.test(text.slice(0, 1500)) ? [] : [`${lines} lines`]
  })
  expect(found).toEqual([])
})

test('every file of the product loads in plain Node, and loading it does nothing', () => {
  const paths = files
    .map(({ path }) => path)
    .filter((path) => !['bench', 'test'].includes(folderOf(path)) && path !== 'cli/realmkeeper.ts')
  const program = `for (const path of ${JSON.stringify(paths)}) {
    await import(${JSON.stringify(`${ROOT}/`)} + path).catch((error) => { console.log(path + ': ' + error.message) })
  }`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    timeout: 120_000,
  })
  expect({ stdout, stderr, status }).toEqual({ stdout: '', stderr: '', status: 0 })
})

test('process.env is read in process/config.ts alone, and set in the entry file', () => {
  const found = violations(
    product.filter(({ path }) => path !== 'process/config.ts'),
    ({ path, text }) => {
      const code = withoutComments(text)
      // Before any other module loads: see the comment there.
      const read = path === 'cli/realmkeeper.ts' ? code.replace('process.env.UV_THREADPOOL_SIZE ||=', '') : code
      return /\bprocess\s*\.\s*env\b/.test(read) ? ['process.env'] : []
    },
  )
  expect(found).toEqual([])
})

test('store/, keyring/, kubernetes/, operator/ and server/ get the clock from their callers', () => {
  const found = violations(
    product.filter(
      ({ path }) => /^(?:store|keyring|kubernetes|operator|server)\//.test(path) && basename(path) !== 'main.ts',
    ),
    ({ text }) => withoutComments(text).match(/new Date\(\s*\)|\bDate\.now\(/g) ?? [],
  )
  expect(found).toEqual([])
})

test('*.cluster.test.ts are the test files that import test/support/control_plane.ts, directly or not', () => {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]))
  const needsCluster = (path: string): boolean => {
    const reached = new Set([path])
    // The loop also visits what it adds.
    for (const each of reached) for (const imported of importsOf.get(each) ?? []) reached.add(imported)
    return reached.has('test/support/control_plane.ts')
  }
  const found = violations(files, ({ path }) => {
    if (!path.endsWith('.test.ts')) return []
    return needsCluster(path) === path.endsWith('.cluster.test.ts') ? [] : ['has the wrong suffix']
  })
  expect(found).toEqual([])
})

interface Lock {
  packages: Record<string, { resolved?: string; optionalDependencies?: Record<string, string> }>
}

test('package-lock.json names no registry and has every optional dependency', () => {
  const { packages }: Lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const locked = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)))
  const found = Object.entries(packages).flatMap(([path, { resolved, optionalDependencies = {} }]) => [
    ...(resolved === undefined ? [] : [`${path}: ${resolved}`]),
    ...Object.keys(optionalDependencies)
      .filter((name) => !locked.has(name))
      .map((name) => `${path}: ${name} is not in package-lock.json`),
  ])
  expect(found).toEqual([])
})

test('no tracked file names a path of the machine where it was written', () => {
  const words = [['', 'work', ''].join('/'), ['..', 'shared'].join('/')]
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean)
  const found = tracked
    .filter((path) => existsSync(join(ROOT, path)))
    .filter((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8')
      return words.some((word) => text.includes(word))
    })
  expect(found).toEqual([])
})

function isOurs(path: string): boolean {
  return FOLDERS.includes(folderOf(path)) && path.includes('/')
}

/** Each cycle once, as `a → b → a`. */
function cycles(of: SourceFile[]): string[] {
  const importsOf = new Map(of.map(({ path, imports }) => [path, imports.filter(isOurs)]))
  const done = new Set<string>()
  const found: string[] = []
  function visit(path: string, trail: string[]): void {
    if (trail.includes(path)) {
      found.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      return
    }
    if (done.has(path)) return
    for (const imported of importsOf.get(path) ?? []) visit(imported, [...trail, path])
    done.add(path)
  }
  for (const path of importsOf.keys()) visit(path, [])
  return found
}
