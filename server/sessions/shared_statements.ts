interface Waiting<Question, Answer> {
  question: Question
  /** Milliseconds of `performance.now()`. */
  since: number
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

export interface SharedStatementOptions<Question, Answer> {
  /** Answers a list of questions with one statement, in their order. */
  ask: (questions: Question[]) => Promise<Answer[]>
  /** Questions of one key never share a statement, because each must see what the one before changed. */
  keyOf?: (question: Question) => string
  /** Statements at a time: fewer of them share more questions. */
  maxInFlight?: number
  /** After a failed statement, questions that have waited longer than this fail as well. */
  patienceMillis?: number
}

/** A larger statement would delay the ones behind it. */
const MAX_QUESTIONS = 100
/** More than one, so that a statement that waits for a lock does not delay the others; few, so that they are shared. */
const MAX_IN_FLIGHT = 3
/** As long as a query waits for a connection of the pool. */
const PATIENCE_MILLIS = 2_000

/**
 * Lets concurrent requests share statements: questions that arrive while statements are in flight share the next one. A
 * statement begins after each of its questions, so no answer is older than its question; a lone question does not wait.
 * A failure rejects every caller of the statement, which has written nothing. It also rejects those that have waited
 * longer than `patienceMillis`: when every statement times out, they would wait for one after another.
 */
export function shareStatements<Question, Answer>({
  ask,
  keyOf,
  maxInFlight = MAX_IN_FLIGHT,
  patienceMillis = PATIENCE_MILLIS,
}: SharedStatementOptions<Question, Answer>): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = []
  let inFlight = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || inFlight >= maxInFlight || waiting.length === 0) return
    isScheduled = true
    // One statement for the requests that arrived in this turn of the event loop.
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
