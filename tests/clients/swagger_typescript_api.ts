// By swagger-typescript-api's client.
import { Api, type ErrorBody, type HttpResponse, IntervalUnit, type KnownEvent } from './client/api'
import { SERVER, authorization, live, rejection } from './calls'

const api = new Api({ baseUrl: SERVER!, baseApiParams: { headers: { authorization } } })
const made = async <T>(call: Promise<{ data: { response: T } }>): Promise<T> => (await call).data.response

async function refused<E>(call: Promise<unknown>) {
  const { status, error } = (await rejection(call)) as HttpResponse<unknown, E>
  return [status, error] as const
}

void live({
  createCard: (card) => made(api.v1.createCard(card)),
  createCharge: (order) => made(api.v1.createCharge(order)),
  createRefund: (charge, refund) => made(api.v1.createRefund(charge, refund)),
  listCharges: (per_page) => made(api.v1.listCharges({ per_page })),
  refusedCharge: (order) => refused<ErrorBody>(api.v1.createCharge(order)),
  refusedTransfer: (transfer) => refused<ErrorBody[]>(api.v1.createTransfer(transfer)),
  createCustomer: (customer) => made(api.v1.createCustomer(customer)),
  createPlan: (plan) => made(api.v1.createPlan({ ...plan, interval_unit: IntervalUnit.Month })),
  createSubscription: (subscription) => made(api.v1.createSubscription(subscription)),
  captured: (webhook) => {
    const event: KnownEvent = JSON.parse(webhook)
    return event.type === 'charge.captured' ? event.data.token : undefined
  },
})
