// What this tab remembers: the tokens of the last answers, and what was filled in. It ends with the tab, and no secret is in it.

import { isToken, linked, namesOf, operationAt } from './openapi.js'

const NAME = 'card-payments'
const OFFERED_MAX = 20
// A text with a key, which is a word of 22 characters without the prefix of a token, or with another secret.
const SECRET = /(?<![\w-])(pk_)?[\w-]{22}(?![\w-])|PRIVATE KEY|password/i

let isKept = false
let memory = { tokens: {}, drafts: {} }
let version = 0
const listeners = new Set()

// Begins to remember; on a live server nothing is.
export const remember = () => {
  isKept = true
  try {
    memory = { ...memory, ...JSON.parse(sessionStorage.getItem(NAME)) }
  } catch {
    // A browser that forbids storage, or somebody else's item: the page begins anew.
  }
}

const save = () => {
  if (!isKept) return
  const text = JSON.stringify(memory, (_, value) => (typeof value === 'string' && SECRET.test(value) ? undefined : value))
  try {
    sessionStorage.setItem(NAME, text)
  } catch {
    // A full or forbidden storage takes nothing from the page that is open.
  }
}

// For React's useSyncExternalStore: the version changes with the tokens.
export const subscribe = (listener) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const currentVersion = () => version

const changed = () => {
  version += 1
  save()
  listeners.forEach((listener) => listener())
}

// The tokens for a field, those of the last answer first. A nested field is `card[token]`.
export const tokensFor = (name) => memory.tokens[name.replace(/^.*\[(.*)\]$/, '$1')] ?? []

// What was filled in for an operation.
export const draftOf = (path, method) => (memory.drafts[`${method} ${path}`] ??= { parameters: {} })
export const saveDraft = save
export const forgetBody = (path, method) => {
  const draft = draftOf(path, method)
  memory.drafts[`${method} ${path}`] = { media: draft.media, parameters: draft.parameters }
  changed()
}

const offer = (name, token, isFirst) => {
  const known = memory.tokens[name] ?? []
  if (!isFirst && known.includes(token)) return
  const others = known.filter((other) => other !== token)
  memory.tokens[name] = (isFirst ? [token, ...others] : [...others, token]).slice(0, OFFERED_MAX)
}

// Learns from an answer. The tokens of its own record come first. The card below a charge is spent, and is not offered.
export const learn = (path, method, response) => {
  const operation = operationAt(path, method)
  if (!operation) return
  forgetMissing(path, method, response)
  let body
  try {
    body = JSON.parse(response.text)
  } catch {
    return changed()
  }
  for (const [name, token] of Object.entries(linked(operation, response.status, body))) offer(name, token, true)
  const own = Array.isArray(body.response) ? undefined : body.response?.token
  if (isToken(own) && response.ok) namesOf(own).forEach((name) => offer(name, own, true))
  const walk = (node, name) => {
    if (name === 'card' && !/customer/.test(path)) return
    if (isToken(node)) namesOf(node).forEach((name) => offer(name, node, false))
    else if (node && typeof node === 'object') Object.entries(node).forEach(([name, inner]) => walk(inner, name))
  }
  if (response.ok) walk(body.response, '')
  changed()
}

// The record that the path names last is gone after 404 and after it was deleted.
const forgetMissing = (path, method, response) => {
  if (response.status !== 404 && !(method === 'delete' && response.ok)) return
  const name = path.match(/\{(\w+)\}/g)?.at(-1)?.slice(1, -1)
  const pattern = new RegExp(`${path.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^$()|[\]\\]/g, '\\$&')).join('([^/]+)')}$`)
  const token = pattern.exec(new URL(response.url, location.href).pathname)?.at(-1)
  if (!name || !token) return
  for (const [known, tokens] of Object.entries(memory.tokens)) memory.tokens[known] = tokens.filter((other) => other !== token)
  for (const draft of Object.values(memory.drafts)) {
    for (const [field, value] of Object.entries(draft.parameters)) if (value === token) delete draft.parameters[field]
  }
}
