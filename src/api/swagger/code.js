// The request as filled in, as code that runs as it stands.

import { filledRequest } from './request.js'

// A text in the quotes of a language. JSON's are those of Python, TypeScript and Go, too.
const quoted = JSON.stringify
const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`
const php = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const block = (text, before) => text.split('\n').join(`\n${before}`)

const parsed = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const curl = ({ method, url, headers, key, json, form, parts }) => {
  const lines = [`curl ${method === 'HEAD' ? '-I' : `-X ${method}`} ${shell(url)}`]
  if (key) lines.push(`-u ${shell(`${key}:`)}`)
  headers.forEach(([name, value]) => lines.push(`-H ${shell(`${name}: ${value}`)}`))
  if (json !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${shell(json)}`)
  form?.forEach(([name, value]) => lines.push(`--data-urlencode ${shell(`${name}=${value}`)}`))
  parts?.forEach(([name, value]) => lines.push(`-F ${shell(value instanceof File ? `${name}=@${value.name}` : `${name}=${value}`)}`))
  return lines.join(' \\\n  ')
}

const pythonValue = (value, before) => {
  if (value === null) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (typeof value !== 'object') return quoted(value)
  const inner = `${before}    `
  const items = Array.isArray(value)
    ? value.map((item) => pythonValue(item, inner))
    : Object.entries(value).map(([name, item]) => `${quoted(name)}: ${pythonValue(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return items.length === 0 ? open + close : `${open}\n${inner}${items.join(`,\n${inner}`)},\n${before}${close}`
}

const python = ({ method, url, headers, key, json, form, parts }) => {
  const given = []
  if (key) given.push(`auth=(${quoted(key)}, "")`)
  if (headers.length > 0) given.push(`headers=${pythonValue(Object.fromEntries(headers), '    ')}`)
  if (json !== undefined) {
    const value = parsed(json)
    given.push(value === undefined ? `data=${quoted(json)}` : `json=${pythonValue(value, '    ')}`)
  }
  if (form) given.push(`data=[${form.map(([name, value]) => `(${quoted(name)}, ${quoted(value)})`).join(', ')}]`)
  if (parts) {
    given.push(`data=${pythonValue(Object.fromEntries(parts.filter(([, value]) => !(value instanceof File))), '    ')}`)
    const files = parts.filter(([, value]) => value instanceof File)
    given.push(`files={${files.map(([name, file]) => `${quoted(name)}: open(${quoted(file.name)}, "rb")`).join(', ')}}`)
  }
  const lines = [quoted(url), ...given].map((line) => `    ${line},\n`).join('')
  return `import requests\n\nresponse = requests.${method.toLowerCase()}(\n${lines})\nprint(response.status_code, response.text)`
}

const typescript = ({ method, url, headers, key, json, form, parts }) => {
  const all = [...headers.map(([name, value]) => `${quoted(name)}: ${quoted(value)}`)]
  if (key) all.unshift(`Authorization: "Basic " + btoa(${quoted(`${key}:`)})`)
  if (json !== undefined) all.push('"Content-Type": "application/json"')
  const before = []
  let body
  if (json !== undefined) {
    const value = parsed(json)
    body = value === undefined ? quoted(json) : `JSON.stringify(${block(JSON.stringify(value, null, 2), '  ')})`
  }
  if (form) body = `new URLSearchParams([\n${form.map(([name, value]) => `    [${quoted(name)}, ${quoted(value)}],\n`).join('')}  ])`
  if (parts) {
    body = 'form'
    before.push('import { openAsBlob } from "node:fs";\n', 'const form = new FormData();')
    parts.forEach(([name, value]) => before.push(value instanceof File
      ? `form.append(${quoted(name)}, await openAsBlob(${quoted(value.name)}), ${quoted(value.name)});`
      : `form.append(${quoted(name)}, ${quoted(value)});`))
  }
  const options = [`method: ${quoted(method)}`]
  if (all.length > 0) options.push(`headers: { ${all.join(', ')} }`)
  if (body) options.push(`body: ${body}`)
  return [...before, `const response = await fetch(${quoted(url)}, {\n  ${options.join(',\n  ')},\n});`,
    'console.log(response.status, await response.text());'].join('\n')
}

const phpCode = ({ method, url, headers, key, json, form, parts }) => {
  const all = headers.map(([name, value]) => php(`${name}: ${value}`))
  if (json !== undefined) all.push(php('Content-Type: application/json'))
  const options = [`CURLOPT_CUSTOMREQUEST => ${php(method)}`, 'CURLOPT_RETURNTRANSFER => true']
  if (key) options.push(`CURLOPT_USERPWD => ${php(`${key}:`)}`)
  if (all.length > 0) options.push(`CURLOPT_HTTPHEADER => [${all.join(', ')}]`)
  if (json !== undefined) options.push(`CURLOPT_POSTFIELDS => ${php(json)}`)
  if (form) options.push(`CURLOPT_POSTFIELDS => ${php(String(new URLSearchParams(form)))}`)
  if (parts) {
    const values = parts.map(([name, value]) => `${php(name)} => ${value instanceof File ? `new CURLFile(${php(value.name)})` : php(String(value))}`)
    options.push(`CURLOPT_POSTFIELDS => [${values.join(', ')}]`)
  }
  return `<?php\n$curl = curl_init(${php(url)});\ncurl_setopt_array($curl, [\n${options.map((line) => `    ${line},\n`).join('')}]);\n` +
    '$body = curl_exec($curl);\necho curl_getinfo($curl, CURLINFO_RESPONSE_CODE), \' \', $body, "\\n";'
}

const go = ({ method, url, headers, key, json, form, parts }) => {
  const imports = new Set(['fmt', 'io', 'net/http'])
  const before = []
  const after = headers.map(([name, value]) => `request.Header.Set(${quoted(name)}, ${quoted(value)})`)
  let body = 'nil'
  if (key) after.push(`request.SetBasicAuth(${quoted(key)}, "")`)
  if (json !== undefined || form) {
    imports.add('strings')
    before.push(`body := ${quoted(json ?? String(new URLSearchParams(form)))}`)
    body = 'strings.NewReader(body)'
    after.push(`request.Header.Set("Content-Type", ${quoted(json === undefined ? 'application/x-www-form-urlencoded' : 'application/json')})`)
  }
  if (parts) {
    imports.add('bytes').add('mime/multipart')
    body = '&body'
    before.push('var body bytes.Buffer', 'form := multipart.NewWriter(&body)')
    for (const [name, value] of parts) {
      if (value instanceof File) {
        imports.add('os')
        before.push(`part, _ := form.CreateFormFile(${quoted(name)}, ${quoted(value.name)})`, `content, _ := os.ReadFile(${quoted(value.name)})`, 'part.Write(content)')
      } else before.push(`form.WriteField(${quoted(name)}, ${quoted(value)})`)
    }
    before.push('form.Close()')
    after.push('request.Header.Set("Content-Type", form.FormDataContentType())')
  }
  const lines = [...before, `request, _ := http.NewRequest(${quoted(method)}, ${quoted(url)}, ${body})`, ...after,
    'response, err := http.DefaultClient.Do(request)', 'if err != nil {', '\tpanic(err)', '}', 'text, _ := io.ReadAll(response.Body)',
    'fmt.Println(response.StatusCode, string(text))']
  return `package main\n\nimport (\n${[...imports].sort().map((name) => `\t"${name}"\n`).join('')})\n\nfunc main() {\n${lines.map((line) => `\t${line}\n`).join('')}}`
}

const LANGUAGES = [['curl', curl], ['Python', python], ['TypeScript', typescript], ['PHP', phpCode], ['Go', go]]

export const codePlugin = ({ React, getSystem }) => {
  const h = React.createElement
  // The language that somebody chose is that of every operation.
  let chosen = 0

  const Code = ({ path, method }) => {
    const [at, setAt] = React.useState(chosen)
    const [isCopied, setCopied] = React.useState(false)
    const tabs = React.useRef()
    const id = React.useId()
    const text = LANGUAGES[at][1](filledRequest(getSystem(), path, method))
    const select = (index) => {
      chosen = (index + LANGUAGES.length) % LANGUAGES.length
      setAt(chosen)
      setCopied(false)
    }
    const move = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
      if (!step) return
      select(at + step)
      tabs.current.children[chosen].focus()
    }
    const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true))
    return h('div', { className: 'code' },
      h('div', { className: 'code-head' },
        h('div', { role: 'tablist', 'aria-label': 'This request as code', ref: tabs, onKeyDown: move }, LANGUAGES.map(([name], index) =>
          h('button', { key: name, type: 'button', role: 'tab', id: `${id}${name}`, 'aria-selected': index === at, tabIndex: index === at ? 0 : -1, onClick: () => select(index) }, name))),
        // Browsers have a clipboard for pages of a secure origin only.
        navigator.clipboard && h('button', { type: 'button', className: 'btn', onClick: copy }, isCopied ? 'Copied' : 'Copy')),
      h('pre', { role: 'tabpanel', 'aria-labelledby': `${id}${LANGUAGES[at][0]}`, tabIndex: 0 }, text))
  }

  const Fold = (props) => {
    const [isOpen, setOpen] = React.useState(true)
    return h('details', { className: 'code-fold', open: isOpen, onToggle: (event) => setOpen(event.target.open) },
      h('summary', null, 'This request as code'), isOpen && h(Code, props))
  }

  // Nobody sends the requests to webhook endpoints from here.
  const responses = (Original) => (props) =>
    h(React.Fragment, null, props.specPath.first() === 'paths' && h(Fold, props), h(Original, props))
  // It stands above the answer already.
  const curlOfAnswer = () => () => null
  return { wrapComponents: { responses, curl: curlOfAnswer } }
}
