// The fields of a request: each offers what is known of its values.

import { currentVersion, draftOf, saveDraft, subscribe, tokensFor } from './memory.js'
import { isToken } from './openapi.js'

// The card numbers and outcomes of the sandbox, as the server tells them: [value, what it does].
let sandbox = { cards: [], outcomes: [], challenges: [] }
export const offerSandbox = (offered) => (sandbox = offered)
export const testCards = () => sandbox.cards

// The headers whose words the server tells, and what is meant without one.
const OFFERED = {
  'Sandbox-Outcome': ['outcomes', 'as the card decides'],
  'Sandbox-Challenge': ['challenges', 'as the card or a person decides'],
}

export const fieldsPlugin = ({ React }) => {
  const h = React.createElement
  const useTokens = () => React.useSyncExternalStore(subscribe, currentVersion)

  const Choice = ({ label, offered, value, empty, onChange }) =>
    h('select', { 'aria-label': label, value: value ?? '', onChange: (event) => onChange(event.target.value) },
      empty !== undefined && h('option', { value: '' }, empty),
      offered.map(([name, what]) => h('option', { key: name, value: name }, what ? `${name}: ${what}` : name)))

  // A text with the known tokens below it.
  const Text = ({ label, value, onChange, placeholder, disabled, isLong }) => {
    useTokens()
    const list = React.useId()
    const offered = tokensFor(label)
    const shared = { 'aria-label': label, value: value ?? '', placeholder, disabled, onChange: (event) => onChange(event.target.value) }
    if (isLong) return h('textarea', { ...shared, rows: 3, className: 'lines' })
    return h(React.Fragment, null,
      h('input', { ...shared, type: 'text', autoComplete: 'off', list: offered.length > 0 ? list : undefined }),
      offered.length > 0 && h('datalist', { id: list }, offered.map((token) => h('option', { key: token, value: token }))))
  }

  // Swagger UI's field of a parameter knows its name only as its description.
  const JsonSchemaForm = (Original) => (props) => {
    const name = props.description
    const [words, empty] = OFFERED[name] ?? []
    if (words && sandbox[words].length > 0 && !props.disabled) {
      return h(Choice, { label: name, offered: sandbox[words], value: props.value, empty, onChange: props.onChange })
    }
    if (name?.endsWith('_token') && !props.disabled) {
      return h(Text, { label: name, value: props.value, onChange: props.onChange, placeholder: name })
    }
    return h(Original, props)
  }

  // Fills in a parameter that has no value yet: what was there before, else the token of the last answer.
  const parameterRow = (Original) => (props) => {
    useTokens()
    const { pathMethod, rawParam, specSelectors, onChange, isExecute } = props
    const name = rawParam.get('name')
    const draft = draftOf(...pathMethod)
    const filled = React.useRef()
    const value = specSelectors.parameterWithMetaByIdentity(pathMethod, rawParam)?.get('value')
    const newest = rawParam.get('in') === 'path' ? tokensFor(name)[0] : undefined
    React.useEffect(() => {
      const kept = draft.parameters[name] ?? newest
      const isOwn = value === undefined || value === null || value === filled.current
      if (!isExecute || kept === undefined || !isOwn || value === kept) return
      filled.current = kept
      onChange(rawParam, kept)
    })
    const change = (parameter, changed, ...rest) => {
      if (changed === null || changed === undefined || changed === newest) delete draft.parameters[name]
      else draft.parameters[name] = changed
      filled.current = undefined
      saveDraft()
      onChange(parameter, changed, ...rest)
    }
    return h(Original, { ...props, onChange: change })
  }

  return { components: { Choice, Text }, wrapComponents: { JsonSchemaForm, parameterRow } }
}

// An example with the tokens that it shows replaced by those that exist.
export const withKnownTokens = (node, name = '') => {
  if (isToken(node)) return tokensFor(name)[0] ?? ''
  if (node === '' && name.endsWith('_token')) return tokensFor(name)[0] ?? ''
  if (Array.isArray(node)) return node.map((item) => withKnownTokens(item, name))
  if (node === null || typeof node !== 'object') return node
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, withKnownTokens(value, name)]))
}
