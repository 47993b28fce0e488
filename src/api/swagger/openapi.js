// The document, as the other files of this page read it.

let openapi = { paths: {}, components: {} }

const TOKEN = /^([a-z]+)_[\w-]{22}$/
// The names under which parameters and bodies take a token, by the prefix of the token.
let namesByPrefix = new Map()

// The node with everything in place that its references lead to; what stands beside a reference holds before what it leads
// to. No schema of the document contains itself.
export const resolve = (node) => {
  if (Array.isArray(node)) return node.map(resolve)
  if (node === null || typeof node !== 'object') return node
  if (typeof node.$ref === 'string') {
    const { $ref, ...beside } = node
    return { ...resolve(target($ref)), ...resolve(beside) }
  }
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, resolve(value)]))
}

const target = (reference) => {
  const names = reference.slice('#/'.length).split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  return names.reduce((node, name) => node[name], openapi)
}

const dereferenced = (node) => (typeof node?.$ref === 'string' ? target(node.$ref) : node)

// Takes the document's text. The tokens that it shows are nobody's, so no field begins with one of them: a reader who pressed
// Execute would get 404. Nor does one begin with what may be left out, which would narrow the answer.
export const read = (text) => {
  openapi = JSON.parse(text)
  // The page shows what stands under webhooks, and follows no reference there.
  openapi.webhooks = Object.fromEntries(Object.entries(openapi.webhooks ?? {}).map(([name, item]) => [name, dereferenced(item)]))
  namesByPrefix = new Map()
  const learn = (sample, name) => {
    const prefix = TOKEN.exec(sample)?.[1]
    if (prefix) namesByPrefix.set(prefix, new Set([...(namesByPrefix.get(prefix) ?? []), name]))
  }
  const forget = (parameter) => {
    if (TOKEN.test(parameter.example)) learn(parameter.example, parameter.name)
    // What names a record that is not there, or narrows an answer that is asked for without it.
    else if (parameter.in !== 'path' && (parameter.in !== 'query' || parameter.required)) return
    delete parameter.example
  }
  Object.values(openapi.components.parameters ?? {}).forEach(forget)
  for (const { operation } of operations()) {
    for (const parameter of operation.parameters ?? []) if (!parameter.$ref) forget(parameter)
    const created = /^create_(\w+)$/.exec(operation.operationId)?.[1]
    if (created) for (const sample of answers(operation)) learn(sample.response?.token, `${created}_token`)
  }
  return openapi
}

export const operations = () =>
  Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })))

export const operationAt = (path, method) => openapi.paths[path]?.[method]

// What the document shows as answers of success.
const answers = (operation) =>
  Object.entries(operation.responses ?? {})
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, response]) => Object.values(response.content?.['application/json']?.examples ?? {}))
    .map((example) => dereferenced(example).value ?? {})

export const isToken = (text) => typeof text === 'string' && TOKEN.test(text)

// The names of the fields that take a token.
export const namesOf = (token) => [...(namesByPrefix.get(TOKEN.exec(token)?.[1]) ?? [])]

export const findOperation = (id) => operations().find(({ operation }) => operation.operationId === id)

const links = (operation, status) => Object.values(dereferenced(operation?.responses?.[status])?.links ?? {})

// The ids of the operations to which an answer's links lead.
export const linksOf = (operation, status) => links(operation, status).map((link) => link.operationId)

// What an answer's links fill in: the parameters with their values.
export const linked = (operation, status, body) => {
  const found = {}
  for (const { parameters } of links(operation, status)) {
    for (const [name, expression] of Object.entries(parameters ?? {})) {
      const names = /^\$response\.body#\/(.+)$/.exec(expression)?.[1].split('/') ?? []
      const value = names.reduce((node, part) => node?.[part], body)
      if (names.length > 0 && typeof value === 'string') found[name] = value
    }
  }
  return found
}

// A field of a body, with the alternative that is not null in the place of the choice between both.
const plain = (schema) => {
  const either = schema.oneOf?.filter((one) => one.type !== 'null')
  if (either?.length !== 1) return resolve(schema)
  return { ...resolve(either[0]), description: schema.description ?? either[0].description }
}

export const typeOf = (schema) => [schema.type].flat().find((type) => type && type !== 'null') ?? 'string'

// The fields of a schema as a form names them: `card[number]`. A list and a map of any keys are one field each.
export const fieldsOf = (schema, prefix = '', isRequired = true) =>
  Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const field = plain(property)
    const full = prefix ? `${prefix}[${name}]` : name
    const required = isRequired && (schema.required?.includes(name) ?? false)
    if (field.properties) return fieldsOf(field, full, required)
    const either = field.oneOf?.flatMap((one) => fieldsOf(one, full, false)) ?? []
    if (either.length > 0) return either.filter((one, index) => either.findIndex(({ name }) => name === one.name) === index)
    return [{ name: full, required, schema: field, type: typeOf(field), description: field.description ?? '' }]
  })

// The schema of an operation's body: JSON has the same fields as the form.
export const bodyOf = (operation) => {
  const content = operation.requestBody?.content ?? {}
  const form = content['application/x-www-form-urlencoded'] ?? content['multipart/form-data']
  const example = content['application/json']?.examples?.success?.value ?? {}
  return form && { schema: resolve(form.schema), example }
}

// The example of a schema by itself: its required fields.
const sample = (schema) =>
  Object.fromEntries((schema.required ?? []).map((name) => {
    const field = plain(schema.properties[name])
    return [name, field.properties ? sample(field) : field.example ?? (typeOf(field) === 'string' ? '' : 0)]
  }))

// The records of which a body names one.
const ONE_OF = ['card', 'card_token', 'payment_source_token', 'customer_token', 'bank_account', 'bank_account_token']

// The ways to fill in a body of which it takes one: each with what it says, what it adds and what it leaves out.
export const choicesOf = ({ schema, example }) => {
  const properties = schema.properties ?? {}
  const drop = ONE_OF.filter((name) => name in properties && !schema.required?.includes(name))
  if (drop.length > 1) {
    const choices = drop.map((name) => {
      const field = plain(properties[name])
      return { name, description: field.description, add: { [name]: field.properties ? example[name] ?? sample(field) : '' }, drop }
    })
    const isOptional = drop.every((name) => !(name in example))
    return isOptional ? [{ name: '', description: 'None of them', add: {}, drop }, ...choices] : choices
  }
  // A source is made of the fields of its type.
  const source = plain(properties.source ?? {})
  return Object.entries(source['x-types'] ?? {}).map(([name, required]) => {
    const made = name === example.type ? example.source : sample({ ...source, required })
    return { name, description: `Needs ${required.join(', ')}`, add: { type: name, source: made }, drop: ['type', 'source'] }
  })
}

// What the filter searches: everything that an operation says of itself.
export const textOf = (operation) => {
  const parts = [operation.operationId, operation.summary, operation.description, ...(operation.tags ?? [])]
  for (const parameter of operation.parameters ?? []) {
    const { name, description } = dereferenced(parameter)
    parts.push(name, description)
  }
  for (const { name, description } of fieldsOf(bodyOf(operation)?.schema ?? {})) parts.push(name, description)
  for (const [status, response] of Object.entries(operation.responses ?? {})) {
    const { description, content } = dereferenced(response)
    parts.push(status, description, ...Object.keys(content?.['application/json']?.examples ?? {}))
  }
  return parts.join('\n').toLowerCase()
}
