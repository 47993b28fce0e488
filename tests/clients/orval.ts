// The flow of every client, by orval's client for fetch: its functions ask the address of the page that they run in.
import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createCard } from './client/cards'
import { createCharge, listCharges } from './client/charges'
import { createCustomer } from './client/customers'
import type { KnownEvent } from './client/cardPayments.schemas'
import { createPlan } from './client/plans'
import { createRefund } from './client/refunds'
import { createSubscription } from './client/subscriptions'
import { createTransfer } from './client/transfers'

const { SERVER, KEY, WEBHOOK } = process.env as Record<string, string>
const ask = globalThis.fetch
globalThis.fetch = (path, request) => {
  const headers = new Headers(request?.headers)
  headers.set('Authorization', `Basic ${Buffer.from(`${KEY}:`).toString('base64')}`)
  return ask(new URL(String(path), SERVER), { ...request, headers })
}

const details = {
  number: '4200000000000000', expiry_month: 5, expiry_year: 2030, cvc: '123', name: 'Roland Robot',
  address_line1: '42 Sevenoaks St', address_city: 'Lathlain', address_country: 'AU',
}
const newCharge = (amount: number) => ({ email: 'roland@example.com', description: 'orval', amount, ip_address: '203.192.1.172' })

/** The record of a success. */
function made<R extends { status: number; data: unknown }, S extends R['status']>(answer: R, status: S) {
  equal(answer.status, status, JSON.stringify(answer.data))
  return (answer as Extract<R, { status: S }> & { data: { response: unknown } }).data.response as Extract<
    R,
    { status: S; data: { response: unknown } }
  >['data']['response']
}

async function main() {
  const card = made(await createCard(details), 201)
  const charge = made(await createCharge({ ...newCharge(400), card_token: card.token }), 201)
  const inline = made(await createCharge({ ...newCharge(500), card: details }), 201)
  const refund = made(await createRefund(charge.token, { amount: 100 }), 201)
  deepEqual([refund.charge, refund.amount], [charge.token, 100])
  const page = made(await listCharges({ per_page: 2 }), 200)
  deepEqual(page.map(({ token }) => token), [inline.token, charge.token])

  const invalid = await createCharge(newCharge(400))
  if (invalid.status !== 422) throw new Error(JSON.stringify(invalid.data))
  equal(invalid.data.error, 'invalid_resource')
  const much = { description: 'Too much', amount: 1_000_000_000_000, currency: 'AUD', recipient: 'self' }
  const poor = await createTransfer(much)
  equal(poor.status, 402)

  const customer = made(await createCustomer({ email: 'roland@example.com', card: details }), 201)
  const plan = made(await createPlan({ name: 'orval', amount: 1000, interval: 1, interval_unit: 'month' }), 201)
  const subscription = made(await createSubscription({ plan_token: plan.token, customer_token: customer.token }), 201)
  equal(subscription.state, 'active')

  const event: KnownEvent = JSON.parse(readFileSync(WEBHOOK!, 'utf8'))
  if (event.type !== 'charge.captured') throw new Error(event.type)
  equal(event.data.captured, true)
}

void main()
