// The flow of every client in TypeScript whose calls are functions. Each says in `Calls` how it makes them; its types must fit.
import { deepEqual, equal, match } from 'node:assert/strict'
import { readFileSync } from 'node:fs'

export const { SERVER, KEY, WEBHOOK } = process.env as Record<string, string>
export const authorization = `Basic ${Buffer.from(`${KEY}:`).toString('base64')}`

const card = {
  number: '4200000000000000', expiry_month: 5, expiry_year: 2030, cvc: '123', name: 'Roland Robot',
  address_line1: '42 Sevenoaks St', address_city: 'Lathlain', address_country: 'AU',
}
type Card = typeof card
const order = (amount: number, payer: { card_token?: string; card?: Card } = {}) => ({
  email: 'roland@example.com', description: 'TypeScript', amount, ip_address: '203.192.1.172', ...payer,
})
type Order = ReturnType<typeof order>
const transfer = { description: 'Too much', amount: 1_000_000_000_000, currency: 'AUD', recipient: 'self' }
interface Refusal { error: string }

/** What a client does. A call gives the record of its response; the refused ones give their status and the body, typed by the client. */
export interface Calls {
  createCard(card: Card): Promise<{ token: string }>
  createCharge(order: Order): Promise<{ token: string; amount?: number | undefined }>
  createRefund(charge: string, refund: { amount: number }): Promise<{ charge: string; amount: number }>
  listCharges(perPage: number): Promise<{ token: string }[]>
  refusedCharge(order: Order): Promise<readonly [number, Refusal]>
  refusedTransfer(body: typeof transfer): Promise<readonly [number, Refusal | Refusal[]]>
  createCustomer(customer: { email: string; card: Card }): Promise<{ token: string }>
  createPlan(plan: { name: string; amount: number; interval: number; interval_unit: 'month' }): Promise<{ token: string }>
  createSubscription(subscription: { plan_token: string; customer_token: string }): Promise<{ state: string }>
  /** The token of the charge in the event of a webhook, if its type is charge.captured. */
  captured(webhook: string): string | undefined
}

export async function live(calls: Calls) {
  const { token } = await calls.createCard(card)
  const charge = await calls.createCharge(order(400, { card_token: token }))
  equal(charge.amount, 400)
  const inline = await calls.createCharge(order(500, { card }))
  const refund = await calls.createRefund(charge.token, { amount: 100 })
  deepEqual([refund.charge, refund.amount], [charge.token, 100])
  deepEqual((await calls.listCharges(2)).map(({ token }) => token), [inline.token, charge.token])

  const [status, refused] = await calls.refusedCharge(order(400))
  deepEqual([status, refused.error], [422, 'invalid_resource'])
  const [poor, refusals] = await calls.refusedTransfer(transfer)
  deepEqual([poor, [refusals].flat()[0]?.error], [402, 'insufficient_service_balance'])

  const customer = await calls.createCustomer({ email: 'roland@example.com', card })
  const plan = await calls.createPlan({ name: 'TypeScript', amount: 1000, interval: 1, interval_unit: 'month' })
  const subscription = await calls.createSubscription({ plan_token: plan.token, customer_token: customer.token })
  equal(subscription.state, 'active')

  match(calls.captured(readFileSync(WEBHOOK!, 'utf8')) ?? '', /^ch_/)
}

/** What a call that must be refused is rejected with. */
export async function rejection(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(() => undefined, (error: unknown) => error)
  if (error === undefined) throw new Error('it was not refused')
  return error
}
