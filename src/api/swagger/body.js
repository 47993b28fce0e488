// The body of a request, as JSON and as a form: it begins with an example that succeeds, takes one of several payers as a
// choice, and lists its parameters with their descriptions.

import { testCards, withKnownTokens } from './fields.js'
import { currentVersion, draftOf, forgetBody, saveDraft, subscribe } from './memory.js'
import { bodyOf, choicesOf, fieldsOf, operationAt } from './openapi.js'

const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

// The values of a form by the names of its fields. Those of a list or a map are one a line.
const flatten = (fields, example) => {
  const flat = {}
  for (const { name, type } of fields) {
    const value = name.split(/[[\]]+/).filter(Boolean).reduce((node, part) => node?.[part], example)
    if (value === undefined || value === null) continue
    if (type === 'array') flat[name] = [value].flat().join('\n')
    else if (type === 'object') flat[name] = Object.entries(value).map(([key, item]) => `${key}=${item}`).join('\n')
    else flat[name] = String(value)
  }
  return flat
}

// The same as an object: the fields of a form have types in JSON.
const nest = (fields, flat) => {
  const body = {}
  for (const { name, type } of fields) {
    const text = flat[name] ?? ''
    if (text === '') continue
    const path = name.split(/[[\]]+/).filter(Boolean)
    const place = path.slice(0, -1).reduce((node, part) => (node[part] ??= {}), body)
    place[path.at(-1)] = typed(type, text)
  }
  return body
}
const typed = (type, text) => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (type === 'array') return lines
  if (type === 'object') return Object.fromEntries(lines.map(keyAndValue))
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return ['integer', 'number'].includes(type) && Number.isSafeInteger(Number(text)) ? Number(text) : text
}
const keyAndValue = (line) => [line.split('=')[0].trim(), line.slice(line.indexOf('=') + 1)]

// The form as it is sent: names and values, several of a name for a list. What is empty is not sent, except where the
// example has null.
const pairs = (fields, flat) =>
  fields.flatMap(({ name, type, isNull }) => {
    const text = flat[name] ?? ''
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    if (type === 'array') return lines.map((line) => [`${name}[]`, line])
    if (type === 'object') return lines.map(keyAndValue).map(([key, value]) => [`${name}[${key}]`, value])
    return text === '' && !isNull ? [] : [[name, text]]
  })

// Swagger UI takes a form as the JSON of an object.
const encoded = (fields, flat) => {
  const object = {}
  for (const [name, value] of pairs(fields, flat)) object[name] = name in object ? [object[name], value].flat() : value
  return JSON.stringify(object)
}

const within = (name, names) => names.some((outer) => name === outer || name.startsWith(`${outer}[`))

const described = new Map()
const describe = (path, method) => {
  const key = `${method} ${path}`
  if (!described.has(key)) {
    const body = bodyOf(operationAt(path, method) ?? {})
    const fields = body && fieldsOf(body.schema).map((field) => ({ ...field, isNull: body.example[field.name] === null }))
    described.set(key, body && { ...body, fields, choices: choicesOf(body) })
  }
  return described.get(key)
}

// What was filled in; else the example.
const stateOf = (path, method, { example, fields, choices }) => {
  const draft = draftOf(path, method)
  const chosen = choices.find(({ name }) => name === draft.choice) ?? choices.find(({ name, add }) => name && Object.keys(add).every((key) => key in example)) ?? choices[0]
  const begun = withKnownTokens(chosen ? swap(example, chosen) : example)
  const json = draft.json ?? JSON.stringify(begun, null, 2)
  const form = draft.form ?? flatten(fields, begun)
  return { draft, chosen, json, form }
}

const swap = (body, { add, drop }) => {
  const kept = Object.entries(body).filter(([name]) => !drop.includes(name))
  return { ...Object.fromEntries(kept), ...add }
}

// The object of a text of JSON; nothing while somebody is still typing it.
const parsed = (text) => {
  try {
    const body = JSON.parse(text)
    return body && typeof body === 'object' && !Array.isArray(body) ? body : undefined
  } catch {
    return undefined
  }
}

// Puts a choice into what was filled in already. A text that is no JSON is replaced.
const choose = (state, fields, example, choice) => {
  const add = withKnownTokens(choice.add)
  const body = parsed(state.json) ?? example
  state.draft.choice = choice.name
  state.draft.json = JSON.stringify(swap(body, { ...choice, add }), null, 2)
  const kept = Object.entries(state.form).filter(([name]) => !within(name, choice.drop))
  state.draft.form = { ...Object.fromEntries(kept), ...flatten(fields, add) }
}

export const bodyPlugin = ({ React, getComponent }) => {
  const h = React.createElement

  const Row = ({ field, children }) =>
    h('tr', { 'data-property-name': field.name },
      h('td', { className: 'parameters-col_name' },
        h('div', { className: field.required ? 'parameter__name required' : 'parameter__name' }, field.name),
        h('div', { className: 'parameter__type' }, typeText(field))),
      h('td', { className: 'parameters-col_description' }, h(getComponent('Markdown', true), { source: field.description }), children))

  const typeText = ({ type, schema }) => {
    if (type === 'array') return 'list, one a line'
    if (type === 'object') return 'keys and values, key=value a line'
    return schema.enum ? schema.enum.filter((word) => word !== null).join(', ') : type
  }

  // What stands in the example, or was filled in, is in sight; the others follow in a fold.
  const Rows = ({ fields, isInSight, input }) => {
    const table = (some) => h('table', { className: 'parameters body-fields' },
      h('tbody', null, some.map((field) => h(Row, { key: field.name, field }, input?.(field)))))
    const [first, rest] = [fields.filter(isInSight), fields.filter((field) => !isInSight(field))]
    const [isOpen, setOpen] = React.useState(false)
    return h('div', { className: 'table-container' },
      first.length > 0 && table(first),
      rest.length > 0 && h('details', { onToggle: (event) => setOpen(event.target.open) },
        h('summary', null, `${rest.length} ${first.length > 0 ? 'more ' : ''}optional parameters`), isOpen && table(rest)))
  }

  const TestCard = ({ value, onChange }) => {
    const Choice = getComponent('Choice')
    const offered = testCards()
    if (offered.length === 0) return null
    const known = offered.some(([number]) => number === value) ? value : ''
    return h('label', { className: 'offer' }, 'Test card ',
      h(Choice, { label: 'Test card', offered, value: known, empty: known ? undefined : 'another number', onChange }))
  }

  const isCardNumber = ({ name, schema }) => /(^|\[)number\]?$/.test(name) && testCards().some(([number]) => number === schema.example)

  const RequestBody = (Original) => (props) => {
    const [, path, method] = props.specPath.toArray()
    const media = props.contentType ?? props.requestBody.get('content').keySeq().first()
    const body = describe(path, method)
    if (!body || ![JSON_TYPE, FORM_TYPE].includes(media)) return h(Original, props)
    if (!props.isExecute) return h(React.Fragment, null, h(Original, props), h(Described, { fields: body.fields, isInSight: ({ required }) => required }))
    return h(Editor, { ...props, body, path, method, media })
  }

  const Editor = ({ body, path, method, media, contentType, requestBodyValue, onChange, oas3Actions, requestBodyErrors }) => {
    React.useSyncExternalStore(subscribe, currentVersion)
    const [, redraw] = React.useReducer((count) => count + 1, 0)
    const { fields, choices, example } = body
    const state = stateOf(path, method, body)
    const wanted = media === FORM_TYPE ? encoded(fields, state.form) : state.json

    const isRestored = React.useRef(false)
    React.useEffect(() => {
      const kept = state.draft.media
      if (!isRestored.current && kept && kept !== contentType) {
        oas3Actions.setRequestContentType({ value: kept, pathMethod: [path, method] })
      } else if (contentType) {
        state.draft.media = contentType
        saveDraft()
      }
      isRestored.current = true
    }, [contentType])
    React.useEffect(() => {
      if (requestBodyValue !== wanted) onChange(wanted)
    })

    const change = (update) => {
      update()
      saveDraft()
      redraw()
    }
    // What is changed in one is changed in the other, as far as a form can say it.
    const setField = (name, text) => change(() => {
      state.draft.form = { ...state.form, [name]: text }
      state.draft.json = JSON.stringify(nest(fields, state.draft.form), null, 2)
    })
    const setJson = (text) => change(() => {
      state.draft.json = text
      const body = parsed(text)
      if (body) state.draft.form = flatten(fields, body)
    })
    const Choice = getComponent('Choice')
    const Text = getComponent('Text')
    const input = (field) => {
      const shared = { label: field.name, value: state.form[field.name], onChange: (text) => setField(field.name, text) }
      const words = field.schema.enum?.filter((word) => word !== null) ?? (field.type === 'boolean' ? ['true', 'false'] : undefined)
      if (words) return h(Choice, { ...shared, offered: words.map((word) => [String(word)]), empty: '' })
      return h(React.Fragment, null,
        h(Text, { ...shared, placeholder: String(field.schema.example ?? ''), isLong: ['array', 'object'].includes(field.type) }),
        isCardNumber(field) && h(TestCard, { value: shared.value, onChange: shared.onChange }))
    }
    const number = testCards().find(([known]) => state.json.includes(`"${known}"`))?.[0]
    const isLeftOut = ({ name }) => state.chosen && within(name, state.chosen.drop) && !within(name, Object.keys(state.chosen.add))
    const shown = fields.filter((field) => !isLeftOut(field))
    const isInSight = ({ name, required }) => required || name in state.form || within(name, Object.keys(example))
    return h('div', { className: 'body-editor' },
      h('div', { className: 'offers' },
        choices.length > 0 && h('label', { className: 'offer' }, 'One of ',
          h(Choice, {
            label: 'One of', value: state.chosen.name,
            offered: choices.map(({ name, description }) => [name, description?.replace(/\.$/, '')]),
            onChange: (name) => change(() => choose(state, fields, example, choices.find((choice) => choice.name === name))),
          })),
        media === JSON_TYPE && number && h(TestCard, { value: number, onChange: (other) => setJson(state.json.replaceAll(`"${number}"`, `"${other}"`)) }),
        (state.draft.json ?? state.draft.form) !== undefined &&
          h('button', { type: 'button', className: 'btn', onClick: () => { forgetBody(path, method); redraw() } }, 'Back to the example')),
      media === JSON_TYPE && h('textarea', {
        className: `body-param__text${requestBodyErrors?.size > 0 ? ' invalid' : ''}`, 'aria-label': 'Request body', spellCheck: false,
        rows: Math.min(24, state.json.split('\n').length + 1), value: state.json, onChange: (event) => setJson(event.target.value),
      }),
      media === FORM_TYPE ? h(Rows, { key: media, fields: shown, isInSight, input }) : h(Described, { fields, isInSight }))
  }

  // Below JSON, where a phone shows the button first.
  const Described = (props) =>
    h('details', { open: !matchMedia('(max-width: 768px)').matches }, h('summary', null, 'Parameters of the body'), h(Rows, props))

  return {
    wrapComponents: { RequestBody },
    // The server says what a form lacks, in its own words.
    statePlugins: { oas3: { wrapSelectors: { validateShallowRequired: () => () => [] } } },
  }
}
