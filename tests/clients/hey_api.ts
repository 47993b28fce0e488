// By hey-api's client.
import { client } from './client/client.gen'
import * as api from './client/sdk.gen'
import type { KnownEvent } from './client/types.gen'
import { KEY, SERVER, live } from './calls'

client.setConfig({ baseUrl: SERVER!, auth: `${KEY}:` })

/** The record of a success. */
async function made<T>(call: Promise<{ data?: { response: T } | undefined; error?: unknown }>): Promise<T> {
  const { data, error } = await call
  if (!data) throw new Error(JSON.stringify(error))
  return data.response
}

async function refused<E>(call: Promise<{ error?: E | undefined; response?: Response | undefined }>) {
  const { error, response } = await call
  if (error === undefined) throw new Error('it was not refused')
  return [response?.status ?? 0, error] as const
}

void live({
  createCard: (body) => made(api.createCard({ body })),
  createCharge: (body) => made(api.createCharge({ body })),
  createRefund: (charge_token, body) => made(api.createRefund({ path: { charge_token }, body })),
  listCharges: (per_page) => made(api.listCharges({ query: { per_page } })),
  refusedCharge: (body) => refused(api.createCharge({ body })),
  refusedTransfer: (body) => refused(api.createTransfer({ body })),
  createCustomer: (body) => made(api.createCustomer({ body })),
  createPlan: (body) => made(api.createPlan({ body })),
  createSubscription: (body) => made(api.createSubscription({ body })),
  captured: (webhook) => {
    const event: KnownEvent = JSON.parse(webhook)
    return event.type === 'charge.captured' ? event.data.token : undefined
  },
})
