// What the document says and no test has got: `unreached.mjs <document as JSON> <answers>`. The tests note each answer as
// operation, status and error code, a line, in the file that CARD_PAYMENTS_ANSWERS names.
import { readFileSync } from 'node:fs'

const [documented, answered] = process.argv.slice(2)
const document = JSON.parse(readFileSync(documented, 'utf8'))
const answers = new Set(readFileSync(answered, 'utf8').split('\n'))

// What need not be reached at each operation, and why.
const SPARED = [
  [/^HEAD /, 'what answers GET answers HEAD, without its body: tests/it/answers/paths.rs'],
  [/ 500 internal_error$/, 'a fault of ours, which no request can bring about'],
  [/ 503 service_unavailable$/, 'the database is away: tests/it/outbound and store.rs, at an operation each'],
  [/ 504 gateway_timeout$/, 'the request took too long: one place answers for all operations'],
  [/^(POST|PUT|DELETE) .* 400 api_unavailable$/, 'a live merchant that is not active: tests/it/merchants/moves.rs, at an operation each'],
  [/^PUT .*\/reactivate 400 (?!card_declined)\w+$/, 'charged as POST /subscriptions is, where each decline is told'],
  [/^POST \/1\/plans\/.* 502 gateway_error$/, 'the function of POST /subscriptions, where it is told'],
  [/ 409 idempotency_key_in_use$/, 'a race of two requests: tests/it/http/idempotency.rs'],
]

const resolved = (value) => (value.$ref ? value.$ref.slice(2).split('/').reduce((at, name) => at[name], document) : value)
const missing = []
let all = 0
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const codes = Object.keys(resolved(response).content?.['application/json']?.examples ?? {})
      for (const code of status < '400' || method === 'head' ? [''] : codes) {
        const line = `${method.toUpperCase()} ${path} ${status} ${code}`.trimEnd()
        if (SPARED.some(([spared]) => spared.test(line))) continue
        all += 1
        if (!answers.has(line)) missing.push(line)
      }
    }
  }
}
console.log(missing.join('\n'))
console.log(`${all - missing.length} of ${all} documented answers were seen; spared are`)
for (const [spared, why] of SPARED) console.log(`  ${spared.source}: ${why}`)
process.exit(missing.length > 0 ? 1 : 0)
