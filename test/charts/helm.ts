import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { parseAllDocuments } from 'yaml'
import { binaryPath } from '../support/control_plane.ts'
import { ROOT } from '../support/source_files.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- manifests of all kinds
export type Manifest = any

export const CHART = `${ROOT}/charts/realmkeeper`

/** The required values. */
export const VALUES = { baseUrl: 'https://id.example.com', database: { existingSecret: 'realmkeeper-database' } }

export interface HelmResult {
  code: number
  stdout: string
  stderr: string
}

/** Runs helm; `values` are given as a file on stdin. */
export function helm(args: string[], options: { values?: object; kubeconfig?: string } = {}): Promise<HelmResult> {
  const { values, kubeconfig = '/dev/null' } = options
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: tmpdir(), KUBECONFIG: kubeconfig }
    const all = values ? [...args, '--values', '-'] : args
    const child = execFile(binaryPath('helm'), all, { env, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr })
    })
    child.stdin?.end(values ? JSON.stringify(values) : '')
  })
}

/** The manifests of a release called realmkeeper in a namespace called realmkeeper. Rejects when helm refuses. */
export async function render(values: object = {}): Promise<Manifest[]> {
  const args = ['template', 'realmkeeper', CHART, '--namespace', 'realmkeeper']
  const { code, stdout, stderr } = await helm(args, { values: { ...VALUES, ...values } })
  if (code !== 0) throw new Error(stderr)
  return parseAllDocuments(stdout)
    .map((document) => document.toJS())
    .filter(Boolean)
}

export function find(manifests: Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)
  if (!found) throw new Error(`no ${kind} ${name}`)
  return found
}
