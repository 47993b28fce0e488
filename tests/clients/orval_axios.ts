// By orval's client for axios.
import axios, { type AxiosResponse, isAxiosError } from 'axios'
import { getCards } from './client/cards'
import { getCharges } from './client/charges'
import { getCustomers } from './client/customers'
import type { ErrorBody, KnownEvent } from './client/cardPayments.schemas'
import { getPlans } from './client/plans'
import { getRefunds } from './client/refunds'
import { getSubscriptions } from './client/subscriptions'
import { getTransfers } from './client/transfers'
import { SERVER, authorization, live, rejection } from './calls'

const http = axios.create({ baseURL: SERVER!, headers: { authorization } })
const api = {
  ...getCards(http), ...getCharges(http), ...getCustomers(http), ...getPlans(http), ...getRefunds(http), ...getSubscriptions(http),
  ...getTransfers(http),
}

const made = async <T>(call: Promise<AxiosResponse<{ response: T }>>): Promise<T> => (await call).data.response

async function refused<E>(call: Promise<unknown>) {
  const error = await rejection(call)
  if (!isAxiosError<E>(error) || !error.response) throw error
  return [error.response.status, error.response.data] as const
}

void live({
  createCard: (body) => made(api.createCard(body)),
  createCharge: (body) => made(api.createCharge(body)),
  createRefund: (charge, body) => made(api.createRefund(charge, body)),
  listCharges: (per_page) => made(api.listCharges({ per_page })),
  refusedCharge: (body) => refused<ErrorBody>(api.createCharge(body)),
  refusedTransfer: (body) => refused<ErrorBody[]>(api.createTransfer(body)),
  createCustomer: (body) => made(api.createCustomer(body)),
  createPlan: (body) => made(api.createPlan(body)),
  createSubscription: (body) => made(api.createSubscription(body)),
  captured: (webhook) => {
    const event: KnownEvent = JSON.parse(webhook)
    return event.type === 'charge.captured' ? event.data.token : undefined
  },
})
