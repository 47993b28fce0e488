// By openapi-generator's client for axios.
import { type AxiosResponse, isAxiosError } from 'axios'
import { CardsApi, ChargesApi, Configuration, CustomersApi, PlansApi, RefundsApi, SubscriptionsApi, TransfersApi } from './client'
import type { ErrorBody, KnownEvent } from './client'
import { KEY, SERVER, live, rejection } from './calls'

const configuration = new Configuration({ basePath: SERVER!, username: KEY!, password: '' })
const made = async <T>(call: Promise<AxiosResponse<{ response: T }>>): Promise<T> => (await call).data.response

async function refused<E>(call: Promise<unknown>) {
  const error = await rejection(call)
  if (!isAxiosError<E>(error) || !error.response) throw error
  return [error.response.status, error.response.data] as const
}

const charges = new ChargesApi(configuration)
const transfers = new TransfersApi(configuration)
void live({
  createCard: (card) => made(new CardsApi(configuration).createCard({ browserCardInput: card })),
  createCharge: (order) => made(charges.createCharge({ chargeInput: order })),
  createRefund: (charge, refund) => made(new RefundsApi(configuration).createRefund({ chargeToken: charge, refundInput: refund })),
  listCharges: (perPage) => made(charges.listCharges({ perPage })),
  refusedCharge: (order) => refused<ErrorBody>(charges.createCharge({ chargeInput: order })),
  refusedTransfer: (body) => refused<ErrorBody[]>(transfers.createTransfer({ transferInput: body })),
  createCustomer: (customer) => made(new CustomersApi(configuration).createCustomer({ customerInput: customer })),
  createPlan: (plan) => made(new PlansApi(configuration).createPlan({ planInput: plan })),
  createSubscription: (subscription) => made(new SubscriptionsApi(configuration).createSubscription({ subscriptionInput: subscription })),
  captured: (webhook) => {
    const event: KnownEvent = JSON.parse(webhook)
    return event.type === 'charge.captured' ? event.data.token : undefined
  },
})
