/** One thing that is wrong with an object. The message never holds a value of the object, only names of fields. */
export interface Problem {
  /** Where, from the object's root. A field that is missing or unknown is named by its would-be path. */
  path: (string | number)[]
  /** What is wrong and, where it is not plain, what to do. */
  message: string
}

/** `spec.fields[0].name`, as kubectl and an API server write it. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`
    return text === '' ? step : `${text}.${step}`
  }, '')
}
