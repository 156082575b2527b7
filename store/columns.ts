/** The columns of one table, each named once, as parts of its statements. */
export interface Columns<Row> {
  /** For `select`: each column under the name of its member. */
  selected: string
  /** `insert into … values …`, with `further` columns after those of the row. */
  insertInto(table: string, ...further: string[]): string
  /** For `on conflict … do update set`: every column but those of these members. */
  replacedExcept(...members: (keyof Row)[]): string
  /** The values of a row, in the order of the columns. Objects and lists become JSON. */
  values(row: Row): unknown[]
}

/**
 * The columns of a table by the members of its row. A cast (`generation::integer`) applies to `select`: without one,
 * the driver reads a bigint as text.
 */
export function columnsOf<Row extends object>(columns: Readonly<Record<keyof Row & string, string>>): Columns<Row> {
  const all = Object.entries<string>(columns).map(([member, column]) => ({
    member,
    column,
    name: column.replace(/::.*/, ''),
  }))
  return {
    selected: all.map(({ member, column }) => `${column} as "${member}"`).join(', '),
    insertInto(table, ...further) {
      const names = [...all.map(({ name }) => name), ...further]
      return `insert into ${table} (${names.join(', ')}) values (${names.map((_, at) => `$${at + 1}`).join(', ')})`
    },
    replacedExcept: (...members) =>
      all
        .filter(({ member }) => !members.some((except) => except === member))
        .map(({ name }) => `${name} = excluded.${name}`)
        .join(', '),
    values(row) {
      const values = new Map<string, unknown>(Object.entries(row))
      return all.map(({ member }) => parameter(values.get(member)))
    },
  }
}

function parameter(value: unknown): unknown {
  const isJson = typeof value === 'object' && value !== null && !(value instanceof Date) && !Buffer.isBuffer(value)
  return isJson ? JSON.stringify(value) : value
}
