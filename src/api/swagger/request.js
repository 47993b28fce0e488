// The request of an operation as it is filled in.

import { FORM_TYPE } from './body.js'

const withValue = (value) => value !== undefined && value !== null && value !== ''

// What `Execute` would send: method, address, headers, the key, and a body of one of three kinds.
export const filledRequest = ({ specSelectors, oas3Selectors, authSelectors }, path, method) => {
  const parameters = specSelectors.operationWithMeta(path, method).get('parameters')?.toJS() ?? []
  const of = (place) => parameters.filter((parameter) => parameter.in === place && withValue(parameter.value))
  const server = oas3Selectors.selectedServer() || specSelectors.servers()?.getIn([0, 'url']) || '/'
  const filled = of('path').reduce((text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)), path)
  const query = of('query').map(({ name, value }) => [name, String(value)])
  const { key, publishable } = keys(authSelectors)
  if (!key && publishable) query.push(['publishable_api_key', publishable])
  // A place that is still empty stays readable: {charge_token}.
  const address = new URL(server.replace(/\/$/, '') + filled, location.href).href.replaceAll('%7B', '{').replaceAll('%7D', '}')
  const url = query.length > 0 ? `${address}?${new URLSearchParams(query)}` : address
  const headers = of('header').map(({ name, value }) => [name, String(value)])
  const accepted = oas3Selectors.responseContentType(path, method)
  if (accepted && accepted !== 'application/json') headers.push(['Accept', accepted])
  return { method: method.toUpperCase(), url, headers, key: key ?? (publishable ? undefined : 'YOUR_SECRET_KEY'), ...content(oas3Selectors, path, method) }
}

const keys = (authSelectors) => {
  const authorized = authSelectors.authorized()
  return { key: authorized.getIn(['secret_key', 'value', 'username']), publishable: authorized.getIn(['publishable_key', 'value']) }
}

const content = (oas3Selectors, path, method) => {
  const media = oas3Selectors.requestContentType(path, method)
  const value = oas3Selectors.requestBodyValue(path, method)
  if (!media || !value) return {}
  if (media === FORM_TYPE) {
    const pairs = Object.entries(JSON.parse(value)).flatMap(([name, one]) => [one].flat().map((item) => [name, item]))
    return { form: pairs }
  }
  if (typeof value === 'string') return { json: value }
  const parts = value.entrySeq().toArray().map(([name, part]) => [name, part?.get?.('value') ?? part])
  return { parts: parts.filter(([, part]) => withValue(part)) }
}
