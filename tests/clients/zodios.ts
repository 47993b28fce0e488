// By zodios' client, which checks what it sends and gets by the document's schemas.
import { type ZodiosError, isErrorFromAlias } from '@zodios/core'
import { createApiClient, schemas } from './client/api'
import { SERVER, authorization, live, rejection } from './calls'

const api = createApiClient(SERVER!, { axiosConfig: { headers: { authorization } } })
const made = async <T>(call: Promise<{ response: T }>): Promise<T> => (await call).response

void live({
  createCard: (card) => made(api.create_card(card)),
  createCharge: (order) => made(api.create_charge(order)),
  createRefund: (charge_token, refund) => made(api.create_refund(refund, { params: { charge_token } })),
  listCharges: (per_page) => made(api.list_charges({ queries: { per_page } })),
  refusedCharge: async (order) => {
    const error = await rejection(api.create_charge(order))
    if (!isErrorFromAlias(api.api, 'create_charge', error)) throw error as ZodiosError
    return [error.response.status, error.response.data]
  },
  refusedTransfer: async (transfer) => {
    const error = await rejection(api.create_transfer(transfer))
    if (!isErrorFromAlias(api.api, 'create_transfer', error)) throw error as ZodiosError
    return [error.response.status, error.response.data]
  },
  createCustomer: (customer) => made(api.create_customer(customer)),
  createPlan: (plan) => made(api.create_plan(plan)),
  createSubscription: (subscription) => made(api.create_subscription(subscription)),
  captured: (webhook) => {
    const event = schemas.KnownEvent.parse(JSON.parse(webhook))
    return event.type === 'charge.captured' ? event.data.token : undefined
  },
})
