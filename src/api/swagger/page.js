// What this page adds to Swagger UI: it is quick with a large document, requests begin with what succeeds and carry on with
// what was answered, and people who cannot see it learn what its controls are for.

import { bodyPlugin } from './body.js'
import { codePlugin } from './code.js'
import { fieldsPlugin, offerSandbox } from './fields.js'
import { forgetBody, learn, remember } from './memory.js'
import { sectionsPlugin } from './sections.js'

const memoryPlugin = () => ({
  statePlugins: {
    spec: {
      wrapActions: {
        setResponse: (original) => (path, method, response) => {
          if (!response.error || response.status) learn(path, method, response)
          return original(path, method, response)
        },
      },
    },
    oas3: {
      wrapActions: {
        clearRequestBodyValue: (original) => (reset) => {
          forgetBody(...reset.pathMethod)
          return original(reset)
        },
      },
    },
  },
})

// Begins with the server's settings, a test key or null, and the cards and outcomes of the sandbox.
export const start = (settings, key, sandbox) => {
  offerSandbox(sandbox)
  if (settings.persistAuthorization) remember()
  const ui = SwaggerUIBundle({
    ...settings,
    plugins: [sectionsPlugin, fieldsPlugin, bodyPlugin, codePlugin, memoryPlugin],
    onComplete() {
      // Somebody's own key, kept by the browser, stays.
      const given = ui.authSelectors.authorized()
      if (key && !given.has('secret_key')) ui.preauthorizeBasic('secret_key', key, '')
    },
  })
}

// Swagger UI's dark colours are those of a class.
const dark = matchMedia('(prefers-color-scheme: dark)')
const colour = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', colour)
colour()

// Controls that Swagger UI gives no name, and what scrolls but takes no focus.
const MISSING = [
  ['#servers', { 'aria-label': 'Server' }],
  ['.operation-filter-input', { 'aria-label': 'Filter operations', placeholder: 'Filter by path, word, parameter or error code', type: 'search' }],
  ['.examples-select-element', { 'aria-label': 'Example' }],
  ['.copy-to-clipboard button', { 'aria-label': 'Copy' }],
  ['.close-modal', { 'aria-label': 'Close' }],
  // Their own names are not what is written on them.
  ['.auth-btn-wrapper [aria-label="Apply credentials"]', { 'aria-label': 'Authorize' }],
  ['.auth-btn-wrapper [aria-label="Remove authorization"]', { 'aria-label': 'Logout' }],
  ['.microlight', { tabindex: '0' }],
  // Headings follow each other without a gap: the dialog stands after the title of the page.
  ['.modal-ux-header h3', { role: 'heading', 'aria-level': '2' }],
  ['.auth-container h4', { role: 'heading', 'aria-level': '3' }],
  ['.auth-container h6', { role: 'heading', 'aria-level': '4' }],
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
