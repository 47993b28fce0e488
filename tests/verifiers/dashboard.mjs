// A visit to the dashboard. Called with the server's address, the path of a charge that can be disputed, and a
// folder for screenshots, or `-` for none. Has every page judged by axe; tells what was met on the way.
import { browser, violations } from './browser.mjs'

const [server, charge, folder] = process.argv.slice(2)
const home = `${server}/dashboard`
const complaints = []
const elsewhere = []

async function visitor(options) {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  page.on('console', (message) => complaints.push(`${page.url()}: ${message.text()}`))
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error}`))
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(server).origin) elsewhere.push(request.url())
  })
  return page
}

const shot = async (page, name) => {
  if (folder !== '-') await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

// Every page and one of each kind of record, as wide as a desk and as narrow as a phone, in the light and in the dark.
const told = { narrow: [], wide: [], unnamed: [], contrast: [], violations: [], unseen: [] }
const first = await visitor({ viewport: { width: 1280, height: 900 } })
await first.goto(home)
// The documents show what is on the first screen.
if (folder !== '-') await first.screenshot({ path: `${folder}/dashboard-overview.png` })
told.title = await first.title()
told.read = await first.locator('body').ariaSnapshot()
const ways = await first.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link').evaluateAll((links) => links.map((link) => link.href))
const pages = [...ways, server + charge, `${home}/charges/new`, `${home}/accounts`, `${home}/requests?status=422&error=invalid_resource`, `${home}/search?query=coffee`, `${home}/charges?state=declined`]
told.pages = ways.map((way) => new URL(way).pathname)
for (const list of ['customers', 'subscriptions', 'transfers', 'disputes', 'events', 'webhooks', 'requests?status=422']) {
  await first.goto(`${home}/${list}`)
  pages.push(await first.locator(`tbody a[href^="/dashboard/${list.split('?')[0]}/"]`).first().evaluate((link) => link.href))
}
// An inbox, a key's grid as a preset, and a question before something is lost.
await first.goto(`${home}/webhooks`)
await first.getByRole('button', { name: 'Make an inbox' }).click()
await first.waitForURL((address) => address.pathname.startsWith('/dashboard/inboxes/'))
pages.push(first.url(), `${home}/keys?preset=checkout`)
await first.goto(`${home}/webhooks`)
const questions = [await first.getByRole('link', { name: 'Delete it' }).first().evaluate((link) => link.href)]
await first.goto(`${home}/disputes`)
await first.locator('tbody a[href^="/dashboard/disputes/"]').first().click()
questions.push(await first.getByRole('link', { name: 'Submit the evidence' }).evaluate((link) => link.href))
pages.push(...questions)
const sizes = [[1280, 'desk'], [390, 'phone']].flatMap(([width, name]) => ['light', 'dark'].map((scheme) => [width, name, scheme]))
for (const [width, name, scheme] of [...sizes, [320, 'narrow', 'light']]) {
  const page = await visitor({ viewport: { width, height: 900 }, colorScheme: scheme })
  for (const address of pages) {
    await page.goto(address)
    const path = new URL(address).pathname.replace(/[a-z]+_[A-Za-z0-9]{22}|[0-9a-f-]{36}/, 'one')
    const spread = await page.evaluate(() => document.documentElement.scrollWidth)
    if (spread > width) told.wide.push(`${path} at ${width}: ${spread}`)
    told.wide.push(...(await page.evaluate(stretched)).map((table) => `${path} at ${width}: ${table}`))
    told.narrow.push(...(await page.evaluate(small)).map((figure) => `${path} at ${width}: ${figure}`))
    told.unnamed.push(...await page.evaluate(unnamed))
    told.contrast.push(...(await page.evaluate(faint)).map((where) => `${path} ${scheme}: ${where}`))
    if (name !== 'narrow') told.violations.push(...await violations(page, `${path} ${name} ${scheme}`))
    if (name === 'phone') told.unseen.push(...(await page.evaluate(unseen)).map((where) => `${path}: ${where}`))
    await shot(page, `${path.slice(1).replaceAll('/', '-')}-${name}${scheme === 'dark' ? '-dark' : ''}`)
  }
}

// Amounts and statuses of tables that are not on the screen without scrolling sideways.
function unseen() {
  const cells = [...document.querySelectorAll('main > .scroll td :is(.money, .state)')]
  const hidden = cells.filter((cell) => cell.getBoundingClientRect().right > innerWidth || !cell.checkVisibility())
  return hidden.map((cell) => cell.outerHTML)
}

// Tables that one long text has stretched to twice a desk, and drawings that leave a fifth of their card empty.
function stretched() {
  return [...document.querySelectorAll('.scroll > table')].map((table) => table.scrollWidth).filter((width) => width > 2 * 1280)
}
function small() {
  const share = (figure) => figure.querySelector('svg').getBoundingClientRect().width / figure.getBoundingClientRect().width
  return [...document.querySelectorAll('figure.plot')].filter((figure) => share(figure) < 0.8).map((figure) => figure.innerText.slice(0, 40))
}

// Controls without a name, and pages without their landmarks.
function unnamed() {
  const controls = [...document.querySelectorAll('input:not([type=hidden]), select')]
  const nameless = controls.filter((control) => !control.labels?.length && !control.ariaLabel).map((control) => control.outerHTML)
  // No call of the API lists accounts, searches everything, filters by state, or asks, so these pages have no foot.
  const isFootless =
    ['/dashboard/accounts', '/dashboard/search'].includes(location.pathname) ||
    location.search.includes('state=') ||
    document.querySelector('[aria-label="Your answer"]')
  const parts = ['header', 'nav', 'main', 'h1', ...(isFootless ? [] : ['footer'])]
  const missing = parts.filter((name) => !document.querySelector(name))
  return [...nameless, ...missing.map((name) => `${location.pathname} has no ${name}`)]
}

// Texts whose contrast is less than 4.5 to 1 (WCAG 2.2, 1.4.3).
function faint() {
  const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = ([r, g, b]) => {
    const [red, green, blue] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = channels(getComputedStyle(at).backgroundColor)
      if (a > 0) return [r, g, b]
    }
    return [255, 255, 255]
  }
  const texts = [...document.querySelectorAll('body *:not(svg, svg *)')].filter((element) =>
    element.checkVisibility() && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
  const weak = texts.filter((element) => {
    const [one, other] = [luminance(channels(getComputedStyle(element).color)), luminance(ground(element))]
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5
  })
  return weak.map((element) => element.outerHTML.slice(0, 120))
}

// On a phone the pages are behind a button, without scripts as well.
const phone = await visitor({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false })
await phone.goto(home)
told.behind = await phone.getByRole('link', { name: 'Disputes' }).count()
await phone.getByRole('button', { name: 'Menu' }).click()
await phone.getByRole('link', { name: 'Disputes' }).click()
told.menu = await phone.getByRole('heading', { level: 1 }).innerText()

// An address at which there is no page.
// The browser tells of the status, which is right.
const lost = await (await browser.newContext()).newPage()
await lost.goto(`${home}/charge`)
told.lost = await lost.getByRole('heading', { level: 1 }).innerText()
await lost.context().close()

// By keyboard alone: past the ways, to the slider, two days further, and on.
await first.goto(`${home}/clock`)
told.before = await first.locator('dd time').first().innerText()
await first.keyboard.press('Tab')
told.skip = await first.evaluate(() => document.activeElement.textContent)
await first.keyboard.press('Enter')
const focused = () => first.evaluate(() => document.activeElement.name || document.activeElement.textContent)
for (let n = 0; n < 40 && (await focused()) !== 'days'; n += 1) await first.keyboard.press('Tab')
await first.keyboard.press('ArrowRight')
await first.keyboard.press('ArrowRight')
told.slider = await first.locator('output').innerText()
await first.keyboard.press('Tab')
told.button = await focused()
told.outline = await first.evaluate(() => getComputedStyle(document.activeElement).outlineStyle)
const moved = first.waitForEvent('load')
await first.keyboard.press('Enter')
await moved
told.after = await first.locator('dd time').first().innerText()
told.ran = await first.locator('p[role=status]').innerText()

// The button that opens a dispute.
await first.goto(server + charge)
await first.getByRole('button', { name: 'Dispute it' }).click()
await first.waitForURL((address) => address.pathname.startsWith('/dashboard/disputes/'))
told.dispute = { path: new URL(first.url()).pathname, heading: await first.getByRole('heading', { level: 1 }).innerText() }
await shot(first, 'dashboard-dispute-desk')

// Without scripts everything works: a search, the slider, and a table in place of the drawing.
const plain = await visitor({ viewport: { width: 1280, height: 900 }, javaScriptEnabled: false })
await plain.goto(`${home}/charges`)
await plain.getByRole('main').getByRole('searchbox').fill('no such thing')
await plain.getByRole('button', { name: 'Search' }).click()
await plain.getByText('There are none.').waitFor()
told.found = await plain.getByText('There are none.').count()
await plain.goto(`${home}/clock`)
const passed = plain.waitForEvent('load')
await plain.getByRole('button', { name: 'Move by these days' }).click()
await passed
told.plain = await plain.locator('p[role=status]').innerText()

// A question without scripts: going back changes nothing, and the answer does it.
await plain.goto(`${home}/webhooks`)
await plain.getByRole('link', { name: 'Delete it' }).first().click()
await plain.getByRole('link', { name: 'No, go back' }).waitFor()
told.question = await plain.getByRole('heading', { level: 1 }).innerText()
await plain.getByRole('link', { name: 'No, go back' }).click()
await plain.waitForURL((address) => address.pathname === '/dashboard/webhooks')
told.kept = await plain.getByRole('link', { name: 'Delete it' }).count()
await plain.getByRole('link', { name: 'Delete it' }).first().click()
await plain.getByRole('button', { name: 'Delete the endpoint' }).click()
await plain.waitForURL((address) => address.pathname === '/dashboard/webhooks')
told.left = await plain.getByRole('link', { name: 'Delete it' }).count()

// Evidence with a file, without scripts.
await plain.goto(first.url())
await plain.getByRole('textbox', { name: 'Text' }).fill('It was delivered')
await plain.getByLabel('File').setInputFiles({ name: 'receipt.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7') })
await plain.getByRole('button', { name: 'Add this evidence' }).click()
await plain.getByRole('link', { name: 'receipt.pdf' }).waitFor()
told.evidence = await plain.getByRole('link', { name: 'receipt.pdf' }).count()

// The search at the top of each page, and a refused form, which keeps what was typed and leads to its first error.
await plain.getByRole('banner').getByRole('searchbox').fill(charge.split('/').pop())
await plain.getByRole('button', { name: 'Find' }).click()
await plain.waitForURL((address) => address.pathname.startsWith('/dashboard/charges/'))
told.sought = new URL(plain.url()).pathname
told.refused = []
for (const [width, name, scheme] of sizes) {
  // The browser tells of the status, which is right.
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, javaScriptEnabled: true })
  const form = await context.newPage()
  await form.goto(`${home}/charges/new`)
  await form.getByLabel('Description', { exact: true }).fill('A pot of tea')
  await form.getByLabel('Amount in base units').fill('a lot')
  await form.getByRole('button', { name: 'Make the charge' }).click()
  await form.getByRole('alert').waitFor()
  await form.locator('input:focus').waitFor()
  told.refused.push(await form.evaluate(() => ({
    focus: document.activeElement.id,
    error: document.getElementById(document.activeElement.getAttribute('aria-describedby')).innerText,
    isBelow: document.getElementById('error-amount').getBoundingClientRect().top >= document.activeElement.getBoundingClientRect().bottom,
    kept: [document.activeElement.value, document.getElementById('description').value],
    isWide: document.documentElement.scrollWidth > innerWidth,
  })))
  told.contrast.push(...(await form.evaluate(faint)).map((where) => `refused ${scheme}: ${where}`))
  told.violations.push(...await violations(form, `refused ${name} ${scheme}`))
  await shot(form, `dashboard-refused-${name}${scheme === 'dark' ? '-dark' : ''}`)
  await context.close()
}

// Signed out, the door asks for a key.
await first.goto(home)
await first.getByRole('button', { name: 'Sign out' }).click()
await first.getByRole('heading', { name: 'Sign in' }).waitFor()
told.door = await first.locator('main').ariaSnapshot()
await shot(first, 'dashboard-sign-in-desk')
for (const [width, name, scheme] of sizes) {
  await first.setViewportSize({ width, height: 900 })
  await first.emulateMedia({ colorScheme: scheme })
  told.contrast.push(...(await first.evaluate(faint)).map((where) => `sign-in ${scheme}: ${where}`))
  told.violations.push(...await violations(first, `sign-in ${name} ${scheme}`))
}

console.log(JSON.stringify({ ...told, complaints, elsewhere }))
await browser.close()
