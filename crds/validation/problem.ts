/** One thing that is wrong with an object. The message names fields and never contains a value of the object. */
export interface Problem {
  /** From the object's root. A missing field has the path where it belongs. */
  path: (string | number)[]
  /** The problem and, unless it is obvious, what to do. */
  message: string
}

/** `spec.fields[0].name`, as kubectl and the API server write it. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`
    return text === '' ? step : `${text}.${step}`
  }, '')
}
