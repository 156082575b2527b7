import { printable } from '../../process/printable.ts'
import type { ChainCheck, ExpectedHead } from './verify_chains.ts'
import type { SignatureCheck } from './verify_signature.ts'

/** What was found out about one chain, a line each. */
export function chainLines({ writer, rows, head, brokenAt, signed, expectedUpTo, problems }: ChainCheck): string[] {
  const name = printable(writer, 120)
  const bad = problems.map((problem) => `BROKEN  ${name}: ${problem}`)
  if (brokenAt !== undefined) {
    bad.unshift(`BROKEN  ${name}: row ${brokenAt} does not continue the chain; the ${rows} rows before it are intact`)
  }
  if (bad.length > 0) return bad
  const lines = [`ok      ${name}: rows 1 to ${rows} are linked without a break, up to ${head ?? 'no row'}`]
  const more = (text: string) => lines.push(`          ${text}`)
  if (signed) more(`signed up to row ${signed.seq} at ${signed.at}`)
  if (expectedUpTo !== undefined) more(`as expected up to row ${expectedUpTo}`)
  const proven = Math.max(signed?.seq ?? 0, expectedUpTo ?? 0)
  if (proven > 0 && proven < rows) {
    more(
      `rows ${proven + 1} to ${rows} are neither signed nor expected: the owner of the tables can change them unnoticed`,
    )
  }
  return lines
}

/** What the check proves, and what it does not. */
export function conclusion(
  signature: SignatureCheck | undefined,
  { expected, leastNumber }: { expected: readonly ExpectedHead[]; leastNumber: number | undefined },
): string {
  if (!signature && expected.length === 0) {
    return (
      'This shows that the chains are consistent in themselves, and no more: an account that can change the tables can ' +
      'write or cut them so that they are. Give --audit-key, and --expect-signature or --expect with what the operator ' +
      'has logged.'
    )
  }
  if (!signature) {
    return (
      'Rows up to an expected head are those that were published. All others are only consistent in themselves: give ' +
      '--audit-key to check what was signed.'
    )
  }
  const { made, heads, problem } = signature
  if (problem !== undefined) return `BROKEN  signature: ${problem}`
  const what = `Signature ${made?.number}, made at ${made?.at} with the key ${made?.keyId}, covers ${heads.size} chains.`
  if (leastNumber !== undefined || expected.length > 0) return what
  return (
    `${what} An older state of the whole database has a valid signature too: compare the number with the last one that ` +
    'the operator has logged (--expect-signature).'
  )
}
