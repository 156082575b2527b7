import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LuaFactory } from 'wasmoon'
import { parse } from 'yaml'
import { kubernetesEnvironment } from '../../crds/validation/cel_functions.ts'
import { ROOT } from '../support/source_files.ts'

export const KINDS = ['Realm', 'Client', 'User', 'RoleAssignment']

/** A row of the tables in docs/gitops/README.md. */
export interface State {
  kind: string
  /** The type of the condition, and its status; `none yet` for a missing condition. */
  type: string
  status: string
  reason: string
  argo: string
  flux: string
}

/** The fields of an object that health depends on. */
export interface HealthInput {
  kind: string
  metadata: { generation: number }
  status?: { observedGeneration?: number; conditions: object[] }
}

export const README = page('README.md')

/** Every row of the tables; a row of the kind `any` becomes one row for each kind. */
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

export function objectIn({ kind, type, status, reason }: State, observedGeneration = 3): HealthInput {
  const common = { observedGeneration, message: 'because', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const condition = { type, status, reason, ...common }
  const ready = { type: 'Ready', status: 'True', reason: 'Available', ...common }
  const conditions = type === 'Ready' ? [condition] : [ready, condition]
  if (status === 'none yet') return { kind, metadata: { generation: 3 } }
  return { kind, metadata: { generation: 3 }, status: { observedGeneration, conditions } }
}

/** The health in Argo CD. It gives the script `obj` and only the basic library of Lua. */
export async function argoHealth(object: HealthInput): Promise<{ status: string; message: string }> {
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
 * The health in Flux (RFC 0009): in progress while the observed generation differs; otherwise the first expression that
 * is true, in this order; in progress if none is true or one cannot be evaluated.
 */
export function fluxHealth(object: HealthInput): string {
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

function isTrue(expression: string, object: HealthInput): boolean {
  const parsed = kubernetesEnvironment().parse(expression)
  // Without a status the expression cannot be evaluated. Any other error is a defect of the test.
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

/** CEL has integers, so numbers become BigInt. */
function asCel(object: HealthInput): Record<string, unknown> {
  return JSON.parse(JSON.stringify(object), (_, value: unknown) => (typeof value === 'number' ? BigInt(value) : value))
}
