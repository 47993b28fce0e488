// The flow of every client, by openapi-typescript and openapi-fetch.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import createClient from 'openapi-fetch'
import type { components, paths } from './client/api.js'

const { SERVER, KEY, WEBHOOK } = process.env as Record<string, string>
const api = createClient<paths>({
  baseUrl: SERVER!,
  headers: { Authorization: `Basic ${Buffer.from(`${KEY}:`).toString('base64')}` },
})

const details = {
  number: '4200000000000000', expiry_month: 5, expiry_year: 2030, cvc: '123', name: 'Roland Robot',
  address_line1: '42 Sevenoaks St', address_city: 'Lathlain', address_country: 'AU',
} satisfies components['schemas']['CardInput']

const newCharge = (amount: number, payer: Partial<components['schemas']['ChargeInput']>) => ({
  email: 'roland@example.com', description: 'TypeScript', amount, ip_address: '203.192.1.172', ...payer,
})

/** The record of a success. */
function made<T>(answer: { data?: { response: T } | undefined; error?: unknown }): T {
  assert.ok(answer.data, JSON.stringify(answer.error))
  return answer.data.response
}

const card = made(await api.POST('/1/cards', { body: details }))
const charge = made(await api.POST('/1/charges', { body: newCharge(400, { card_token: card.token }) }))
assert.deepEqual([charge.success, charge.amount], [true, 400])
const inline = made(await api.POST('/1/charges', { body: newCharge(500, { card: details }) }))
assert.match(inline.card?.display_number ?? '', /0000$/)

const refund = made(
  await api.POST('/1/charges/{charge_token}/refunds', {
    params: { path: { charge_token: charge.token } },
    body: { amount: 100 },
  }),
)
assert.deepEqual([refund.charge, refund.amount], [charge.token, 100])

const page = await api.GET('/1/charges', { params: { query: { per_page: 2 } } })
assert.deepEqual(page.data?.response.map(({ token }) => token), [inline.token, charge.token])
assert.equal(page.data?.pagination.per_page, 2)

const invalid = await api.POST('/1/charges', { body: newCharge(400, {}) })
assert.deepEqual([invalid.response.status, invalid.error && 'error' in invalid.error && invalid.error.error], [422, 'invalid_resource'])

const poor = await api.POST('/1/transfers', {
  body: { description: 'Too much', amount: 1_000_000_000_000, currency: 'AUD', recipient: 'self' },
})
assert.ok(Array.isArray(poor.error))
assert.deepEqual([poor.response.status, poor.error[0]?.error], [402, 'insufficient_service_balance'])

const customer = made(await api.POST('/1/customers', { body: { email: 'roland@example.com', card: details } }))
const plan = made(await api.POST('/1/plans', { body: { name: 'TypeScript', amount: 1000, interval: 1, interval_unit: 'month' } }))
const subscription = made(
  await api.POST('/1/subscriptions', { body: { plan_token: plan.token, customer_token: customer.token } }),
)
assert.equal(subscription.state, 'active')

const event: components['schemas']['KnownEvent'] = JSON.parse(readFileSync(WEBHOOK!, 'utf8'))
assert.ok(event.type === 'charge.captured')
assert.match(event.data.token, /^ch_/)
assert.equal(event.data.captured, true)
