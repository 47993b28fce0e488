// What is in sight: a filter that finds operations by everything that they say, an introduction and errors that are folded.

import { findOperation, linksOf, operationAt, operations, read, resolve, textOf } from './openapi.js'

export const sectionsPlugin = ({ React, getSystem }) => {
  const h = React.createElement
  let openapi = {}
  const texts = new Map()

  // Swagger UI reads JSON as YAML, and builds a model of the whole document at first and for each operation that is opened. The
  // document is JSON and refers only to itself, so all this takes a fraction of that here: Swagger UI gets what a closed
  // operation shows, and the rest of an operation once it is opened.
  const parseToJson = (_, { specActions }) => (text) => {
    openapi = read(text)
    return specActions.updateJsonSpec(outline(openapi))
  }
  const outline = ({ paths, components, tags, ...rest }) => {
    const used = new Set(operations().flatMap(({ operation }) => operation.tags))
    const closed = ({ tags, summary, operationId, deprecated, security }) => ({ tags, summary, operationId, deprecated, security })
    const each = (node, change) => Object.fromEntries(Object.entries(node).map(([name, value]) => [name, change(value)]))
    return { ...rest, tags: tags.filter(({ name }) => used.has(name)), paths: each(paths, (methods) => each(methods, closed)), components: { securitySchemes: components.securitySchemes } }
  }
  const requestResolvedSubtree = (_, { specActions }) => (path) => {
    const node = path.reduce((node, name) => node?.[name], openapi)
    return specActions.updateResolvedSubtree(path, resolve(node))
  }

  const isFound = (words, path, method) => {
    const key = `${method} ${path}`
    if (!texts.has(key)) texts.set(key, `${key}\n${textOf(operationAt(path, method))}`.toLowerCase())
    return words.every((word) => texts.get(key).includes(word))
  }

  const wordsOf = (phrase) => phrase.toLowerCase().split(/\s+/).filter(Boolean)

  // Every word of the phrase stands somewhere: in the section's name, or in what the operation says; capital letters or not.
  const opsFilter = (sections, phrase) => {
    const words = wordsOf(phrase)
    return sections
      .map((section, name) => section.update('operations', (all) =>
        all.filter((operation) => isFound(words.filter((word) => !name.toLowerCase().includes(word)), operation.get('path'), operation.get('method')))))
      .filter((section) => section.get('operations').size > 0)
  }

  // While somebody filters, the sections with matches are open, except those that they close.
  const closed = new Set()
  const isFiltered = (phrase) => typeof phrase === 'string' && phrase.trim() !== ''
  const updateFilter = (original) => (phrase) => {
    closed.clear()
    return original(phrase)
  }
  const show = (original, { layoutSelectors }) => (thing, isShown) => {
    const [kind, name] = [thing].flat()
    if (kind === 'operations-tag' && isFiltered(layoutSelectors.currentFilter())) isShown ? closed.delete(name) : closed.add(name)
    return original(thing, isShown)
  }
  const isShown = (original) => (state, thing, byDefault) => {
    const [kind, name] = [thing].flat()
    return kind === 'operations-tag' && isFiltered(state.get('filter')) ? !closed.has(name) : original(thing, byDefault)
  }

  const operationList = (Original) => (props) => {
    const phrase = props.layoutSelectors.currentFilter()
    const filtered = isFiltered(phrase)
    const count = filtered ? props.specSelectors.taggedOperations().reduce((sum, section) => sum + section.get('operations').size, 0) : 0
    const said = count === 0
      ? `No operation matches “${String(phrase).trim()}”. Search for a part of a path, a parameter, an error code or a word of a description.`
      : `${count} ${count === 1 ? 'operation matches' : 'operations match'}.`
    return h(React.Fragment, null,
      h('h2', { className: 'operations-title' }, 'Operations'),
      h('p', { className: 'found', role: 'status' }, filtered ? said : ''),
      filtered && count === 0 ? null : h(Original, props))
  }

  // Most descriptions are plain text, which needs no parser and no sanitizer.
  const MARKS = /[`*#<>|[\]\\&~]|(^|\W)_|_(\W|$)|\n\s*\n|^\s*([-+]|\d+[.)])\s/m
  const Markdown = (Original) => (props) =>
    typeof props.source !== 'string' || MARKS.test(props.source)
      ? h(Original, props)
      : h('div', { className: `renderedMarkdown ${props.className ?? ''}` }, h('p', null, props.source))

  const Webhooks = (Original) => (props) => {
    const phrase = props.layoutSelectors.currentFilter()
    if (isFiltered(phrase) && !wordsOf(phrase).every((word) => JSON.stringify(openapi.webhooks).toLowerCase().includes(word))) return null
    return h(Original, props)
  }

  // The path is a link inside of a button otherwise, which screen readers cannot tell apart.
  const OperationSummaryPath = ({ operationProps }) => {
    const path = operationProps.get('path')
    const parts = path.split(/(?=\/)/g).flatMap((part, index) => [h('wbr', { key: index }), part])
    return h('span', { className: 'opblock-summary-path', 'data-path': path }, parts)
  }

  const OAS31Info = (Original) => (props) => {
    const [isOpen, setOpen] = React.useState(false)
    const { getComponent, specSelectors } = props
    const description = specSelectors.selectInfoDescriptionField()
    return h(React.Fragment, null,
      h(Original, { ...props, specSelectors: { ...specSelectors, selectInfoDescriptionField: () => null } }),
      h('details', { className: 'introduction', onToggle: (event) => setOpen(event.target.open) },
        h('summary', null, 'Introduction: keys, parameters, test cards, errors, idempotency, JSONP'),
        isOpen && h(getComponent('Markdown', true), { source: description })))
  }

  // A refusal is a line until somebody wants to see its body, or gets it.
  const response = (Original) => (props) => {
    const [isOpen, setOpen] = React.useState(false)
    if (isOpen || !/^[45]/.test(props.code)) return h(Original, props)
    return h('tr', { className: `response folded ${props.className ?? ''}`, 'data-code': props.code },
      h('td', { className: 'response-col_status' }, props.code),
      h('td', { className: 'response-col_description', colSpan: 2 },
        h('button', { type: 'button', 'aria-expanded': false, onClick: () => setOpen(true) }, props.response.get('description'))))
  }

  // A link of the document leads to its operation, on this page.
  const LinkTo = ({ operationId }) => {
    const found = findOperation(operationId)
    if (!found) return null
    const { layoutActions } = getSystem()
    const [section] = found.operation.tags
    const go = (event) => {
      event.preventDefault()
      if (isFiltered(getSystem().layoutSelectors.currentFilter())) layoutActions.updateFilter('')
      layoutActions.show(['operations-tag', section], true)
      layoutActions.show(['operations', section, operationId], true)
      setTimeout(() => {
        const block = document.getElementById(`operations-${section.replaceAll(' ', '_')}-${operationId}`)
        block?.scrollIntoView()
        block?.querySelector('button')?.focus({ preventScroll: true })
      })
    }
    return h('a', { href: `#/${encodeURIComponent(section)}/${operationId}`, onClick: go }, found.operation.summary.replace(/\.$/, ''))
  }
  const operationLink = ({ link }) => h(LinkTo, { operationId: link.get('operationId') })

  // What can be done with the record that an answer shows.
  const liveResponse = (Original) => (props) => {
    const { path, method, response } = props
    const next = linksOf(operationAt(path, method), response.get('status'))
    return h(React.Fragment, null, h(Original, props),
      next.length > 0 && h('nav', { className: 'next', 'aria-label': 'What to do with it' },
        h('p', null, 'Next, with the token of this answer:'), h('ul', null, next.map((id) => h('li', { key: id }, h(LinkTo, { operationId: id }))))))
  }

  return {
    fn: { opsFilter },
    components: { OperationSummaryPath, operationLink },
    wrapComponents: { operations: operationList, OAS31Info, response, liveResponse, Markdown, Webhooks },
    statePlugins: {
      spec: { wrapActions: { parseToJson, requestResolvedSubtree } },
      layout: { wrapActions: { updateFilter, show }, wrapSelectors: { isShown } },
    },
  }
}
