import { visit } from 'yaml'
import type { Node, Scalar } from 'yaml'

/** A plain scalar that YAML 1.1 (kubectl, Helm) reads in another way than YAML 1.2. */
export interface YamlTrap {
  offset: number
  message: string
}

const BOOLEAN = /^(y|yes|n|no|on|off)$/i
const OCTAL = /^[-+]?0[0-7_]+$/
const UNDERSCORED = /^[-+]?(0x[0-9a-f_]+|[0-9][0-9_]*(\.[0-9_]*)?)$/i
const SEXAGESIMAL = /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/
const BINARY = /^[-+]?0b[01_]+$/

/** Finds such scalars under a node. With `secret` the message does not repeat the text. */
export function yamlTraps(node: Node, secret: boolean): YamlTrap[] {
  const traps: YamlTrap[] = []
  visit(node, {
    Scalar(_, scalar) {
      const meaning = meaningInYaml11(scalar)
      if (!meaning || !scalar.range) return
      const what = secret ? 'this plain value' : `plain ${scalar.source}`
      traps.push({
        offset: scalar.range[0],
        message: `${what} is ${meaning} for kubectl (YAML 1.1); quote it, or write it in another way`,
      })
    },
  })
  return traps
}

function meaningInYaml11({ type, source }: Scalar): string | undefined {
  if (type !== 'PLAIN' || source === undefined || source.length > 64) return undefined
  if (BOOLEAN.test(source)) return 'a boolean'
  if (OCTAL.test(source)) return 'an octal number'
  if (SEXAGESIMAL.test(source)) return 'a number in base 60'
  if (BINARY.test(source)) return 'a binary number'
  if (source.includes('_') && UNDERSCORED.test(source)) return 'a number'
  return undefined
}
