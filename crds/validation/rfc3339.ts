const SHAPE = /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** Whether a text is a time as API servers take it: RFC 3339 section 5.6, without leap seconds and with the T. */
export function isRfc3339(text: string): boolean {
  const [, year, month, day] = SHAPE.exec(text) ?? []
  if (year === undefined) return false
  const date = new Date(`${year}-${month}-01T00:00:00Z`)
  if (Number.isNaN(date.getTime())) return false
  date.setUTCDate(Number(day))
  return date.getUTCMonth() + 1 === Number(month) && Number(day) > 0
}
