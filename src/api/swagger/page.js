// What this page adds to Swagger UI: it is quick with a large document, its filter finds operations, and people who cannot see
// it learn what its controls are for.

// The node with everything in place that its references lead to. No schema of the document contains itself.
const resolved = (document, node) => {
  if (Array.isArray(node)) return node.map((item) => resolved(document, item))
  if (node === null || typeof node !== 'object') return node
  if (typeof node.$ref === 'string') return resolved(document, target(document, node.$ref))
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, resolved(document, value)]))
}

const target = (document, reference) => {
  const names = reference.slice('#/'.length).split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  return names.reduce((node, name) => node[name], document)
}

const CardPayments = ({ React }) => {
  let openapi = {}

  // Swagger UI reads JSON as YAML, and builds a model of the whole document for each operation that is opened. The document is
  // JSON and refers only to itself, so both take a fraction of that here.
  const parseToJson = (_, { specActions }) => (text) => {
    openapi = JSON.parse(text)
    return specActions.updateJsonSpec(openapi)
  }
  const requestResolvedSubtree = (_, { specActions }) => (path) => {
    const node = path.reduce((node, name) => node?.[name], openapi)
    return specActions.updateResolvedSubtree(path, resolved(openapi, node))
  }

  // By the name of a section, or by an operation's path, summary or id; capital letters or not.
  const opsFilter = (sections, phrase) => {
    const wanted = phrase.trim().toLowerCase()
    const matches = (...texts) => texts.some((text) => text?.toLowerCase().includes(wanted))
    const matchesOperation = (operation) =>
      matches(operation.get('path'), operation.getIn(['operation', 'summary']), operation.getIn(['operation', 'operationId']))
    return sections
      .map((section, name) => (matches(name) ? section : section.update('operations', (all) => all.filter(matchesOperation))))
      .filter((section) => section.get('operations').size > 0)
  }

  // The path is a link inside of a button otherwise, which screen readers cannot tell apart.
  const OperationSummaryPath = ({ operationProps }) => {
    const path = operationProps.get('path')
    const parts = path.split(/(?=\/)/g).flatMap((part, index) => [React.createElement('wbr', { key: index }), part])
    return React.createElement('span', { className: 'opblock-summary-path', 'data-path': path }, parts)
  }

  return {
    fn: { opsFilter },
    components: { OperationSummaryPath },
    statePlugins: { spec: { wrapActions: { parseToJson, requestResolvedSubtree } } },
  }
}

// Controls that Swagger UI gives no name, and what scrolls but takes no focus.
const MISSING = [
  ['#servers', { 'aria-label': 'Server' }],
  ['.operation-filter-input', { 'aria-label': 'Filter operations', placeholder: 'Filter by section, path or summary' }],
  ['.examples-select-element', { 'aria-label': 'Example' }],
  ['.body-param__text', { 'aria-label': 'Request body' }],
  ['.copy-to-clipboard button', { 'aria-label': 'Copy' }],
  ['.close-modal', { 'aria-label': 'Close' }],
  // Their own names are not what is written on them.
  ['.auth-btn-wrapper [aria-label="Apply credentials"]', { 'aria-label': 'Authorize' }],
  ['.auth-btn-wrapper [aria-label="Remove authorization"]', { 'aria-label': 'Logout' }],
  ['.microlight', { tabindex: '0' }],
]

const complete = () => {
  for (const [selector, attributes] of MISSING) {
    for (const element of document.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) {
        if (element.getAttribute(name) !== value) element.setAttribute(name, value)
      }
    }
  }
}

const page = document.getElementById('swagger-ui')
new MutationObserver(complete).observe(page, { childList: true, subtree: true, attributeFilter: ['aria-label'] })
