/** The candidate nearest to a mistyped word; undefined when none is near. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const near = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
  return near.toSorted((a, b) => a.distance - b.distance)[0]?.candidate
}

/** `; did you mean …?` for the candidate nearest to a mistyped word; empty when none is near. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const suggestion = closest(word, candidates)
  return suggestion === undefined ? '' : `; did you mean ${suggestion}?`
}

/** The Levenshtein distance of the first 64 characters. */
function editDistance(left: string, right: string): number {
  const [a, b] = [left.slice(0, 64), right.slice(0, 64)]
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (a[i] === b[j] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
