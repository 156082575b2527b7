import type { Approval } from '../../../operator/source/directory/state/stored_object.ts'

const MEMBERS = ['approver', 'decision', 'observedGeneration', 'observedUID', 'comment', 'decidedAt'] as const

/** An entry as a flow mapping, which is JSON: it fits into YAML and JSON files alike. */
export function flowEntry(entry: Approval): string {
  return `{${members(entry)
    .map(([name, value]) => `"${name}": ${scalar(value, true)}`)
    .join(', ')}}`
}

/** An entry as the lines of a block mapping. */
export function blockEntry(entry: Approval): string[] {
  return members(entry).map(([name, value]) => `${name}: ${scalar(value, false)}`)
}

function members(entry: Approval): [string, string | number][] {
  return MEMBERS.flatMap((name): [string, string | number][] => {
    const value = entry[name]
    return value === undefined ? [] : [[name, value]]
  })
}

function scalar(value: string | number, quoted: boolean): string {
  if (typeof value === 'number') return String(value)
  // A plain scalar only where no YAML version takes it for something else.
  if (!quoted && /^[A-Za-z][A-Za-z0-9_]{3,}([-.@][A-Za-z0-9_]+)*$/.test(value) && !/^(true|false|null)$/i.test(value))
    return value
  // JSON is YAML, but for the characters that YAML does not let stand in a text.
  return JSON.stringify(value).replaceAll(/[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
