/** One figure and the floor that it is compared with. */
export interface Figure {
  row: string
  measured: string
  floor: string
  /** Undefined for figures without a floor. */
  ratio?: number
  /** The target as text. */
  wanted: string
  /** Undefined for figures without a target. */
  holds?: boolean
}

export function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 ? middle : middle - 1], sorted[middle]]
  return (low + high) / 2
}

/** A figure whose ratio must be at least `wanted` percent. */
export function atLeast(row: string, measured: number, floor: number, wanted: number, unit: string): Figure {
  const ratio = measured / floor
  return {
    row,
    measured: `${rounded(measured)} ${unit}`,
    floor: `${rounded(floor)} ${unit}`,
    ratio,
    wanted: `≥ ${wanted} %`,
    holds: ratio * 100 >= wanted,
  }
}

/** A figure without a floor. */
export function plain(row: string, measured: string, wanted: string, holds: boolean): Figure {
  return { row, measured, floor: '', wanted, holds }
}

/** Seconds that may be at most `wanted` percent of the sum of the necessary parts in `floor`. */
export function atMost(row: string, seconds: number, floor: Record<string, number>, wanted: number): Figure {
  const parts = Object.entries(floor).map(([part, its]) => `${its.toFixed(0)} s of ${part}`)
  const ratio = seconds / Object.values(floor).reduce((sum, part) => sum + part, 0)
  return {
    row,
    measured: `${seconds.toFixed(1)} s`,
    floor: parts.join(' + '),
    ratio,
    wanted: `≤ ${wanted} %`,
    holds: ratio * 100 <= wanted,
  }
}

/** The figure without its target. */
export function withoutTarget({ row, measured, floor, ratio }: Figure): Figure {
  return { row, measured, floor, ...(ratio !== undefined && { ratio }), wanted: '' }
}

export function printFigure({ row, measured, floor, ratio, wanted, holds }: Figure): void {
  const verdict = holds === undefined ? '' : holds ? 'holds' : 'DOES NOT HOLD'
  const percent = ratio === undefined ? '' : `${(ratio * 100).toFixed(0)} %`
  console.log(
    `${row.padEnd(34)} ${measured.padStart(18)} ${floor.padStart(31)} ${percent.padStart(7)}  ${wanted.padEnd(12)} ${verdict}`,
  )
}

export function printHeading(measured = 'measured', floor = 'floor'): void {
  console.log(
    `${'row'.padEnd(34)} ${measured.padStart(18)} ${floor.padStart(31)} ${'ratio'.padStart(7)}  ${'wanted'.padEnd(12)}`,
  )
}

export function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
