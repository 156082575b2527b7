import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LuaFactory } from 'wasmoon'
import { parse } from 'yaml'
import { kubernetesEnvironment } from '../../crds/validation/cel_functions.ts'
import { ROOT } from '../support/source_files.ts'

export const KINDS = ['Realm', 'Client', 'User', 'RoleAssignment']

/** A line of the tables in docs/gitops/README.md. */
export interface State {
  kind: string
  /** The condition that the table is about, and its status; `none yet` for none. */
  type: string
  status: string
  reason: string
  argo: string
  flux: string
}

/** An object in a state, as far as health is about it. */
export interface Judged {
  kind: string
  metadata: { generation: number }
  status?: { observedGeneration?: number; conditions: object[] }
}

export const README = page('README.md')

/** Every line of the tables; one for each kind where a line is about any. */
export function documentedStates(): State[] {
  const states: State[] = []
  let type = ''
  for (const line of README.split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim().replaceAll('`', ''))
    const [, kind = '', status = '', reason = '', argo = '', flux = ''] = cells
    if (kind === 'kind') type = status
    else if (kind === 'any') states.push(...KINDS.map((each) => ({ kind: each, type, status, reason, argo, flux })))
    else if (KINDS.includes(kind)) states.push({ kind, type, status, reason, argo, flux })
  }
  return states
}

export function objectIn({ kind, type, status, reason }: State, observedGeneration = 3): Judged {
  const common = { observedGeneration, message: 'because', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const condition = { type, status, reason, ...common }
  const ready = { type: 'Ready', status: 'True', reason: 'Available', ...common }
  const conditions = type === 'Ready' ? [condition] : [ready, condition]
  if (status === 'none yet') return { kind, metadata: { generation: 3 } }
  return { kind, metadata: { generation: 3 }, status: { observedGeneration, conditions } }
}

/** What Argo CD says: the script sees `obj`, and of Lua's libraries the basic one. */
export async function argoHealth(object: Judged): Promise<{ status: string; message: string }> {
  const lua = await new LuaFactory().createEngine()
  try {
    const withoutLibraries = 'string, math, io, os, debug, coroutine, utf8, package, require = nil'
    const script = readFileSync(join(ROOT, 'docs/gitops/argocd-health.lua'), 'utf8')
    return await lua.doString(`${withoutLibraries}\nobj = ${asLua(object)}\n${script}`)
  } finally {
    lua.global.close()
  }
}

/**
 * What Flux says (RFC 0009): in progress while the observed generation is another one; then the first expression that
 * is true, in this order; in progress when none is, and it waits as well where one cannot be evaluated.
 */
export function fluxHealth(object: Judged): string {
  const [, block = ''] = /```yaml\n([^]*?)```/.exec(page('flux.md')) ?? []
  const { healthCheckExprs } = parse(block)
  const check = healthCheckExprs.find(({ kind }: { kind: string }) => kind === object.kind)
  const observed = object.status?.observedGeneration
  if (observed !== undefined && observed !== object.metadata.generation) return 'InProgress'
  for (const [member, health] of [
    ['inProgress', 'InProgress'],
    ['failed', 'Failed'],
    ['current', 'Current'],
  ] as const) {
    if (check[member] !== undefined && isTrue(check[member], object)) return health
  }
  return 'InProgress'
}

function isTrue(expression: string, object: Judged): boolean {
  const parsed = kubernetesEnvironment().parse(expression)
  // Without a status the expression cannot be evaluated; any other failure is one of the test's.
  if (object.status === undefined) return false
  return parsed(asCel(object)) === true
}

function page(name: string): string {
  return readFileSync(join(ROOT, 'docs/gitops', name), 'utf8')
}

function asLua(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(asLua).join(', ')}}`
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, member]) => `[${JSON.stringify(name)}] = ${asLua(member)}`)
      .join(', ')}}`
  }
  return JSON.stringify(value)
}

/** Whole numbers are BigInt there. */
function asCel(object: Judged): Record<string, unknown> {
  return JSON.parse(JSON.stringify(object), (_, value: unknown) => (typeof value === 'number' ? BigInt(value) : value))
}
