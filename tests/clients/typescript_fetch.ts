// By openapi-generator's client for fetch, which writes fields as `expiryMonth`.
import { CardsApi, ChargesApi, Configuration, CustomersApi, PlansApi, RefundsApi, SubscriptionsApi, TransfersApi } from './client'
import { BrowserCardInputFromJSON, CardInputFromJSON, ChargeInputFromJSON, ErrorBodyFromJSON, KnownEventFromJSON, ResponseError } from './client'
import { KEY, SERVER, live, rejection } from './calls'

const configuration = new Configuration({ basePath: SERVER!, username: KEY!, password: '' })
const made = async <T>(call: Promise<{ response: T }>): Promise<T> => (await call).response

async function refused(call: Promise<unknown>) {
  const error = await rejection(call)
  if (!(error instanceof ResponseError)) throw error
  const body = (await error.response.json()) as unknown
  return [error.response.status, ErrorBodyFromJSON(Array.isArray(body) ? body[0] : body)] as const
}

const charges = new ChargesApi(configuration)
void live({
  createCard: (card) => made(new CardsApi(configuration).createCard({ browserCardInput: BrowserCardInputFromJSON(card) })),
  createCharge: (order) => made(charges.createCharge({ chargeInput: ChargeInputFromJSON(order) })),
  createRefund: (chargeToken, refundInput) => made(new RefundsApi(configuration).createRefund({ chargeToken, refundInput })),
  listCharges: (perPage) => made(charges.listCharges({ perPage })),
  refusedCharge: (order) => refused(charges.createCharge({ chargeInput: ChargeInputFromJSON(order) })),
  refusedTransfer: (transferInput) => refused(new TransfersApi(configuration).createTransfer({ transferInput })),
  createCustomer: ({ email, card }) =>
    made(new CustomersApi(configuration).createCustomer({ customerInput: { email, card: CardInputFromJSON(card) } })),
  createPlan: ({ interval_unit, ...plan }) =>
    made(new PlansApi(configuration).createPlan({ planInput: { ...plan, intervalUnit: interval_unit } })),
  createSubscription: ({ plan_token, customer_token }) => {
    const subscriptionInput = { planToken: plan_token, customerToken: customer_token }
    return made(new SubscriptionsApi(configuration).createSubscription({ subscriptionInput }))
  },
  captured: (webhook) => {
    const event = KnownEventFromJSON(JSON.parse(webhook))
    return event.type === 'charge.captured' ? event.data.token : undefined
  },
})
