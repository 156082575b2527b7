interface Waiting<Question, Answer> {
  question: Question
  /** By the clock of `performance`. */
  since: number
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

export interface SharedStatementOptions<Question, Answer> {
  /** Answers any number of questions in one statement, in their order. */
  ask: (questions: Question[]) => Promise<Answer[]>
  /** Questions of one key never share a statement: what one of them changes, the next one has to see. */
  keyOf?: (question: Question) => string
  /** How long a question may have waited and still be asked after a statement that failed. */
  patienceMillis?: number
}

/** A statement with more questions than this makes others wait for it. */
const MAX_QUESTIONS = 100
/** Enough that a statement that waits for a lock holds nobody else up; few, so that statements are shared under load. */
const MAX_IN_FLIGHT = 3
/** As long as a query waits for a connection of the pool. */
const PATIENCE_MILLIS = 2_000

/**
 * Lets concurrent requests share statements: what is asked while others are under way goes into the next one. A
 * statement begins after every one of its questions, so nobody gets an answer older than the question; alone, a
 * question waits for nobody. A statement that fails fails for all that share it, and has written nothing; and for those
 * that have waited for long, because where every statement runs into its timeout they would wait for one after another.
 */
export function shareStatements<Question, Answer>({
  ask,
  keyOf,
  patienceMillis = PATIENCE_MILLIS,
}: SharedStatementOptions<Question, Answer>): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = []
  let inFlight = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || inFlight >= MAX_IN_FLIGHT || waiting.length === 0) return
    isScheduled = true
    // Once a turn of the event loop: requests that arrived together are asked about together.
    setImmediate(() => {
      isScheduled = false
      const asked = takeNext()
      inFlight += 1
      void answer(asked)
      schedule()
    })
  }

  function takeNext(): Waiting<Question, Answer>[] {
    const keys = new Set<string>()
    const asked: Waiting<Question, Answer>[] = []
    const later: Waiting<Question, Answer>[] = []
    for (const each of waiting) {
      const key = keyOf?.(each.question)
      const fits = asked.length < MAX_QUESTIONS && (key === undefined || !keys.has(key))
      if (fits) asked.push(each)
      else later.push(each)
      if (fits && key !== undefined) keys.add(key)
    }
    waiting = later
    return asked
  }

  function takeImpatient(): Waiting<Question, Answer>[] {
    const latest = performance.now() - patienceMillis
    const impatient = waiting.filter(({ since }) => since <= latest)
    waiting = waiting.filter(({ since }) => since > latest)
    return impatient
  }

  async function answer(asked: Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await ask(asked.map(({ question }) => question))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `ask` answers every question; undefined may be an answer
      for (const [at, { resolve }] of asked.entries()) resolve(answers[at] as Answer)
    } catch (error) {
      for (const { reject } of [...asked, ...takeImpatient()]) reject(error)
    } finally {
      inFlight -= 1
      schedule()
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, since: performance.now(), resolve, reject })
      schedule()
    })
}
